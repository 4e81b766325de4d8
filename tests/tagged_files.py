"""Small files of tagged sentences, and their content."""

COLUMNS = "Dogs NNS B-NP\nbark VBP B-VP\n. . O\n\nGo VB B-VP\n"
DOGS = [["Dogs", "bark", "."], ["Go"]]
CHUNKS = [["B-NP", "B-VP", "O"], ["B-VP"]]
CONLLU = """\
# newdoc id = dogs
# sent_id = dogs-1
# text = Dogs don't bark at New York.
1	Dogs	dog	NOUN	NNS	Number=Plur	4	nsubj	_	_
2-3	don't	_	_	_	_	_	_	_	_
2	do	do	AUX	VBP	_	4	aux	_	_
3	n't	not	PART	RB	_	4	advmod	_	_
4	bark	bark	VERB	VB	_	0	root	_	_
4.1	bark	bark	VERB	VB	_	_	_	0:exroot	_
5	at	at	ADP	IN	_	6	case	_	_
6	New York	New York	PROPN	NNP	_	4	obl	_	SpaceAfter=No
7	.	.	PUNCT	.	_	4	punct	_	_

# sent_id = dogs-2
# text = _
1	_	_	PUNCT	NFP	_	0	root	_	_
"""
WORDS = [["Dogs", "do", "n't", "bark", "at", "New York", "."], ["_"]]
UNIVERSAL = [["NOUN", "AUX", "PART", "VERB", "ADP", "PROPN", "PUNCT"], ["PUNCT"]]
PENN = [["NNS", "VBP", "RB", "VB", "IN", "NNP", "."], ["NFP"]]


def write_split(split, separator=" "):
    """A split as a file in columns."""
    pairs = [zip(tokens, tags, strict=True) for tokens, tags in zip(split.tokens, split.tags, strict=True)]
    return "\n".join("".join(f"{token}{separator}{tag}\n" for token, tag in sentence) for sentence in pairs)
