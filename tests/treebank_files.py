"""Made-up sentences in the formats of CCGbank and the Penn Treebank."""

WORDS = [["The", "old", "dog", "half/full", "sleeps", "."], ["Birds", "-LRB-", "sing", "-RRB-"]]
TAGS = [["DT", "JJ", "NN", "JJ", "VBZ", "."], ["NNS", "-LRB-", "VBP", "-RRB-"]]
CATEGORIES = [["NP[nb]/N", "N/N", "N", "NP\\NP", "S[dcl]\\NP", "."], ["NP", "LRB", "S[dcl]\\NP", "RRB"]]
AUTO = r"""ID=wsj_0001.1 PARSER=GOLD NUMPARSE=1
(<T S[dcl] 0 2> (<T S[dcl] 1 2> (<T NP 0 2> (<T NP 0 2> (<L NP[nb]/N DT DT The NP[nb]_1/N_1>) (<T N 1 2> (<L N/N JJ JJ old N_2/N_2>) (<L N NN NN dog N>) ) ) (<L NP\NP JJ JJ half\/full NP_3\NP_3>) ) (<L S[dcl]\NP VBZ VBZ sleeps S[dcl]\NP_4>) ) (<L . . . . .>) )
ID=wsj_0001.2 PARSER=GOLD NUMPARSE=1
(<T S[dcl] 1 2> (<T NP 0 2> (<L NP NNS NNS Birds NP>) (<L LRB -LRB- -LRB- -LRB- LRB>) ) (<T S[dcl]\NP 0 2> (<L S[dcl]\NP VBP VBP sing S[dcl]\NP_1>) (<L RRB -RRB- -RRB- -RRB- RRB>) ) )
"""  # noqa: E501
POS = r"""
[ The/DT old/JJ dog/NN ]
half\/full/JJ sleeps/VBZ ./.

======================================

[ Birds/NNS ] -LRB-/-LRB- sing/VBP
-RRB-/-RRB-
"""
MRG = r"""
( (S
    (NP-SBJ (NP (DT The) (JJ old) (NN dog))
      (ADJP (JJ half\/full)))
    (VP (VBZ sleeps)
      (S (NP-SBJ (-NONE- *-1))))
    (. .)))
( (S (NP-SBJ (NNS Birds)) (PRN (-LRB- -LRB-)
    (VP (VBP sing)) (-RRB- -RRB-))))
"""
CONTENT = {"auto": AUTO, "pos": POS, "mrg": MRG}


def lay_out(root, ending, sections=range(25), upper=False):
    """Write a file of two sentences into each section, which one of their words names."""
    for section in sections:
        name = f"wsj_{section:02}00.{ending}"
        path = root / f"{section:02}" / (name.upper() if upper else name)
        path.parent.mkdir(parents=True)
        path.write_text(CONTENT[ending].replace("Birds", f"Birds{section:02}"))
        (path.parent / "readme").write_text("not a tree")
