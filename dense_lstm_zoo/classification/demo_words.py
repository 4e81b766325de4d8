"""The words and templates of the demo corpus; ``demo`` says how it is made of them."""

# Each scene is a kind of review: its subject as a whole, and the themes its clauses can speak of. A theme holds its
# nouns and its negative and positive adjectives, so that no soup is ever surly and no waiter soggy.
SCENES = (
    (
        "evening meal dinner lunch",
        (
            "soup pasta fish dessert salad bread steak curry pie coffee stew risotto",
            "bland soggy stale greasy watery tasteless burnt overcooked lukewarm rubbery rancid unappetising",
            "tasty delicious fresh flavourful hearty fragrant appetising tender scrumptious succulent zesty moreish",
        ),
        (
            "waiter chef hostess bartender manager waitress sommelier",
            "rude careless surly inattentive arrogant impatient grumpy snooty brusque condescending",
            "friendly attentive polite welcoming courteous helpful gracious cheerful hospitable personable",
        ),
    ),
    (
        "film movie show sequel",
        (
            "plot script dialogue ending story soundtrack opening finale romance twist",
            "predictable contrived muddled corny shallow lifeless pretentious incoherent hackneyed turgid trite",
            "gripping witty clever moving original absorbing thrilling poignant inventive riveting exhilarating",
        ),
        (
            "hero villain narrator heroine comedian detective lead",
            "unconvincing wooden stiff monotonous miscast hammy listless charmless",
            "convincing charismatic believable compelling magnetic funny endearing engrossing",
        ),
    ),
    (
        "phone laptop tablet gadget",
        (
            "screen battery keyboard camera speaker software charger case microphone hinge",
            "flimsy unreliable fragile defective impractical outdated erratic shoddy cumbersome temperamental",
            "reliable sturdy handy practical responsive durable robust precise dependable ingenious",
        ),
        (
            "manual helpline website tutorial newsletter app",
            "confusing unhelpful useless hopeless chaotic sloppy baffling impenetrable",
            "helpful clear useful thorough concise lucid instructive enlightening",
        ),
    ),
)
ADJECTIVES = (
    "disappointing awful dull boring annoying unpleasant mediocre terrible forgettable tiresome irritating dreadful "
    "unimpressive frustrating dismal lousy lacklustre horrid insufferable",
    "wonderful pleasant lovely charming great delightful impressive memorable likeable splendid remarkable agreeable "
    "admirable terrific marvellous enchanting",
)
RARE_ADJECTIVES = (
    "tedious dreary horrible pathetic pitiful appalling ghastly atrocious underwhelming uninspired unremarkable wretched "
    "horrendous woeful abysmal insipid drab inferior substandard infuriating unbearable intolerable unappealing inept "
    "amateurish wearisome lamentable deplorable odious obnoxious repellent vile inane vapid grating dire hideous "
    "loathsome laughable ludicrous disagreeable abominable detestable galling vexing soporific repugnant execrable",
    "brilliant fantastic fabulous magnificent appealing engaging refreshing adorable captivating flawless glorious "
    "spectacular sensational dazzling stunning exquisite sublime impeccable phenomenal exemplary heavenly divine stellar "
    "faultless tremendous amiable congenial commendable praiseworthy laudable beguiling alluring bewitching peerless "
    "superlative masterly matchless noteworthy gratifying stupendous sterling winsome unrivalled inspired uplifting "
    "ravishing majestic creditable",
)
VERBS = (
    "disappoint:disappointed annoy:annoyed bore:bored irritate:irritated frustrate:frustrated offend:offended "
    "exasperate:exasperated",
    "impress:impressed delight:delighted please:pleased charm:charmed amaze:amazed satisfy:satisfied enthral:enthralled",
)
# The weights keep a unigram model near 63 % and a Bi-LSTM near 96 %: more plain sentences help the one, and more
# contrasts, idioms and nested statements hurt both.
RULES: dict[str, tuple[tuple[int, str], ...]] = {
    "sentence": (
        (24, "[=clause]."),
        (56, "[=plain], and [=clause]."),
        (36, "[=plain], [=plain], and [=clause]."),
        (6, "[~plain], but [=clause]."),
        (2, "[~plain], yet [=clause]."),
        (5, "[concede] [~plain], [=clause]."),
        (5, "[=plain], [concede] [~clause]."),
        (2, "despite the [~adjective] [noun], [=clause]."),
        (2, "[=clause], despite the [~adjective] [noun]."),
        (1, "[~plain], but [concede] [~plain], [=clause]."),
        (4, "[=plain], and [concede] [~plain], [=clause]."),
        (3, "[=comparison]."),
        (1, "[refute] that [~comparison]."),
        (1, "[confirm] that [=comparison]."),
        (2, "[=plain], and [=comparison]."),
        (1, "[~plain], but [=comparison]."),
        (1, "[concede] [~comparison], [=clause]."),
        (6, "[rumour] [=claim], [right]."),
        (6, "[rumour] that [~clause], [wrong]."),
        (1, "I expected a [~general] [whole] and got a [=general] one."),
        (1, "I got a [=general] [whole] although I expected a [~general] one."),
        (1, "what we got was a [=general] [whole], not the [~general] one that we expected."),
        (1, "what we expected was a [~general] [whole], not the [=general] one that we got."),
        (1, "the [whole] would have been [~general] if the [noun] hadn't been so [=adjective]."),
        (1, "if the [noun] had been [~adjective], the [whole] would have been [~general]."),
    ),
    "clause": (
        (3, "[=plain]"),
        (1, "[refute] that [~statement]"),
        (1, "[confirm] that [=statement]"),
    ),
    "plain": (
        (34, "the [noun] [=predicate]"),
        (1, "the [noun] that [somebody] called [~adjective] [=predicate]"),
        (2, "neither the [noun] nor the [noun] was [~general]"),
    ),
    "statement": (
        (4, "the [noun] [=predicate]"),
        (1, "[refute] that the [noun] [~predicate]"),
        (1, "[confirm] that the [noun] [=predicate]"),
    ),
    "comparison": (
        (1, "this [whole] was [far] more [=general] than the last one"),
        (1, "this [whole] was [far] less [~general] than the last one"),
        (1, "the last [whole] was [far] more [~general] than this one"),
        (1, "the last [whole] was [far] less [=general] than this one"),
    ),
    "claim": (
        (4, "that [=clause]"),
        (1, "that [~plain] but that [=clause]"),
        (1, "that [concede] [~plain], [=clause]"),
    ),
    "predicate": (
        (64, "was [really] [=adjective]"),
        (14, "[=verbed] [us]"),
        (2, "wasn't [~adjective]"),
        (2, "was not [~adjective] at all"),
        (40, "[=idiom]"),
    ),
}
# Alternatives of equal weight. Phrases that keep or turn the polarity share words, or "nobody" alone would decide.
PHRASES = {
    "idiom": (
        "was nothing short of [=adjective] | was nothing but [=adjective] | was nothing if not [=adjective] | "
        "was never less than [=adjective] | was never anything but [=adjective] | "
        "was not only [=adjective] but also [=adjective] | couldn't have been more [=adjective] | "
        "was more [=adjective] than [~adjective] | was [=adjective] and not [~adjective] | "
        "was not [~adjective] but [=adjective] | was too [=adjective] to [~verb] [us] | "
        "was too [=adjective] not to [=verb] [us] | never failed to [=verb] [us] | didn't fail to [=verb] [us] | "
        "did nothing but [=verb] [us] | never stopped being [=adjective] | couldn't help being [=adjective] | "
        "could only be called [=adjective] | was anything but [~adjective] | "
        "couldn't have been less [~adjective] | was less [~adjective] than [=adjective] | "
        "wasn't [~adjective] enough to [~verb] [us] | was never [~adjective] | was never once [~adjective] | "
        "was hardly [~adjective] | was far from [~adjective] | was by no means [~adjective] | "
        "was in no way [~adjective] | was the opposite of [~adjective] | didn't [~verb] [us] | "
        "failed to [~verb] [us] | did nothing to [~verb] [us] | never managed to [~verb] [us] | "
        "stopped short of being [~adjective] | could hardly be called [~adjective] | "
        "couldn't be called [~adjective]"
    ),
    "right": (
        "and they were right | and they were right | and they were right | and how right they were | "
        "and they weren't wrong | and nobody disagreed with them | which was true | which was no lie"
    ),
    "wrong": (
        "but they were wrong | but they were wrong | but they were wrong | but how wrong they were | "
        "but they weren't right | but nobody agreed with them | which was a lie | which wasn't true"
    ),
    "adjective": "[=general] | [=general] | [=special] | [=special] | [=rare]",
    "somebody": "everyone | somebody | my friends | the critics",
    "concede": "although | although | even though | though",
    "rumour": "my friends told me | the critics wrote | they told us | people kept saying",
    "refute": (
        "nobody could claim | it would be a lie to say | I can't say | I don't believe | "
        "only a fool would say | hardly anyone thought | few would agree | you would be wrong to think | "
        "it isn't true | I would never say | there is no way"
    ),
    "confirm": (
        "nobody could deny | it would be a lie to deny | I can't deny | I don't doubt | "
        "only a fool would deny | hardly anyone doubted | few would disagree | you would be wrong to doubt | "
        "it isn't false | I would never deny | there is no doubt"
    ),
    "really": "really | really | really | truly | truly | quite | quite | simply",
    "far": "far | far | much | much | even",
    "us": "me | me | me | us | us | us | my wife | my brother | my friends",
}
