"""Denials of claims, made by rule, for training: what supports a claim contradicts its denial, and vice versa."""

import re

_VERBS = """
increase decrease reduce raise lower enhance promote inhibit suppress induce prevent cause lead result regulate
upregulate downregulate activate bind interact require protect impair improve worsen affect alter change modulate
mediate contribute
play drive trigger control stimulate block limit support facilitate associate correlate predict depend encode express
function act produce provide exhibit show have form target recruit localize phosphorylate participate influence
determine confer delay accelerate restore rescue reverse maintain degrade cleave repress attenuate mitigate exacerbate
ameliorate kill infect develop differentiate respond contain need use help make occur exist arise persist
""".split()
"""Verbs that claims are made of."""

_THIRD = {
    **{
        (
            v[:-1] + "ies"
            if v.endswith("y") and v[-2] not in "aeiou"
            else v + ("es" if v.endswith(("ss", "ch", "sh")) else "s")
        ): v
        for v in _VERBS
    },
    "has": "have",
}
_PAST = {
    (v + "d" if v.endswith("e") else v[:-1] + "ied" if v.endswith("y") and v[-2] not in "aeiou" else v + "ed"): v
    for v in _VERBS
}
_BASE = {v: k for k, v in _THIRD.items()}
_AUXILIARY = r"is|are|was|were|can|may|might|will|could|should|must"
_OPPOSITES = {
    a: b
    for pair in (
        ("increase", "decrease"),
        ("increases", "decreases"),
        ("increased", "decreased"),
        ("increasing", "decreasing"),
        ("raises", "lowers"),
        ("raise", "lower"),
        ("promotes", "inhibits"),
        ("promote", "inhibit"),
        ("activates", "represses"),
        ("enhances", "impairs"),
        ("enhance", "impair"),
        ("improves", "worsens"),
        ("induces", "prevents"),
        ("induce", "prevent"),
        ("higher", "lower"),
        ("greater", "smaller"),
        ("more", "less"),
        ("upregulates", "downregulates"),
        ("upregulated", "downregulated"),
        ("upregulation", "downregulation"),
        ("elevated", "reduced"),
        ("accelerates", "slows"),
        ("better", "worse"),
        ("stimulates", "suppresses"),
        ("stimulate", "suppress"),
        ("positively", "negatively"),
        ("susceptible", "resistant"),
    )
    for a, b in (pair, pair[::-1])
} | {
    "reduces": "increases",
    "reduce": "increase",
    "reduction": "increase",
    "suppresses": "promotes",
    "blocks": "promotes",
}


def denied(claim: str) -> str | None:
    """A claim with its main verb denied, or a denial taken back.

    Args:
        claim: A statement.

    Returns:
        The other one, or None where no rule fits.
    """
    if found := re.search(r"\b(do|does|did) not (\w+)", claim):
        verb = found[2]
        said = verb if found[1] == "do" else _BASE.get(verb)
        return claim[: found.start()] + said + claim[found.end() :] if said else None
    if found := re.search(rf"\b({_AUXILIARY}|has|have) not\b", claim):
        return claim[: found.start()] + found[1] + claim[found.end() :]
    if found := re.search(r"\b(has|have) no (effect|role|impact|influence|association)\b", claim):
        article = "an" if found[2][0] in "aeiou" else "a"
        return claim[: found.start()] + f"{found[1]} {article} {found[2]}" + claim[found.end() :]
    if re.search(r"\b(no|not|never|cannot|neither|nor|lacks?|fails?|without|absence)\b", claim):
        return None
    if found := re.search(rf"\b({_AUXILIARY})\b(?! (?:that|which))", claim):
        return claim[: found.end()] + " not" + claim[found.end() :]
    if found := re.search(r"\b(has|have) (?=\w+ed\b|been\b)", claim):
        return claim[: found.end()] + "not " + claim[found.end() :]
    for found in re.finditer(r"\b[a-z]+\b", claim):
        if found.start() and (base := _THIRD.get(found[0])):
            return f"{claim[: found.start()]}does not {base}{claim[found.end() :]}"
        if found.start() and (base := _PAST.get(found[0])):
            return f"{claim[: found.start()]}did not {base}{claim[found.end() :]}"
        if found.start() and found[0] in _BASE and re.match(r"\w+s$", claim[: found.start()].split()[-1]):
            return f"{claim[: found.start()]}do not {found[0]}{claim[found.end() :]}"
    return None


def reversed_way(claim: str) -> str | None:
    """A claim with the first word of direction turned round, or None where it has none.

    Args:
        claim: A statement.

    Returns:
        The claim of the opposite.
    """
    for found in re.finditer(r"\b\w+\b", claim):
        if other := _OPPOSITES.get(found[0].lower()):
            return claim[: found.start()] + other + claim[found.end() :]
    return None
