"""The functions of a source, and the classes they are in."""
from dataclasses import dataclass, field


@dataclass
class Class:
    name: str
    saved: list = field(default_factory=list)  # members of type Saved, in order


@dataclass
class Function:
    name: str
    owner: Class  # None: a free function
    returns: str
    tensors: list  # names of the parameters of type const Tensor&
    first: int  # the token at which its declaration begins
    body: tuple  # tokens between the braces
    calls: set = field(default_factory=set)
    initial: list = field(default_factory=list)  # token ranges of the initializers of members and bases

    def full_name(self):
        """The name with its class: Softmax::backward."""
        written = self.returns.split(" ")[-1] if self.returns.endswith("::") else ""
        return (f"{self.owner.name}::" if self.owner and self.owner.name else written.lstrip("*&")) + self.name


def functions_of(source):
    found = []
    _walk(source, 0, len(source.tokens), None, found)
    for function in found:
        begin, end = function.body
        for i in range(begin, end):
            token, after = source.tokens[i], source.text_of(i + 1)
            if token.kind == "word" and (after in ("(", "<", ",", ")") or source.text_of(i + 2) == "("):
                function.calls.add(token.text)
    return found


def _walk(source, begin, end, owner, found):
    first, i = begin, begin
    while i < end:
        text = source.text_of(i)
        if text == ";":
            _member(source, first, i, owner)
            first = i + 1
        elif text in "([":
            i = source.partner[i]
        elif text == "{":
            close = source.partner[i]
            if _block(source, first, i, close, owner, found):
                first = close + 1
            i = close
        elif text == ":" and source.text_of(i - 1) in ("public", "private", "protected"):
            first = i + 1
        i += 1


def _block(source, first, opening, close, owner, found):
    """Reads the declaration at `first` with a block at `opening`. Returns False if it continues after the block."""
    words = [source.text_of(i) for i in range(first, opening)]
    if "namespace" in words or (words[:1] == ["extern"] and len(words) == 2):
        _walk(source, opening + 1, close, None, found)
        return True
    start = first
    if words[:1] == ["template"]:
        after = source.tokens and _template_list(source, first + 1)
        start, words = after, [source.text_of(i) for i in range(after, opening)]
    if words[:1] in (["struct"], ["class"]):
        inside = Class(next((word for word in words[1:] if word.isidentifier() and word != "alignas"), ""))
        _walk(source, opening + 1, close, inside, found)
        return True
    if words[:1] == ["enum"]:
        return False
    call = next((i for i in range(start, opening) if source.text_of(i) == "("), None)
    if call is None or "=" in [source.text_of(i) for i in range(start, call)]:
        return False
    if source.text_of(call - 1) == "operator":  # operator()(…)
        call = source.partner[call] + 1
    if _initialises(source, source.partner[call] + 1, opening):  # a member, before the body
        return False
    at = call - 2 if source.text_of(call - 2) == "~" else call - 1
    at = next((i for i in range(start, call) if source.text_of(i) == "operator"), at)
    found.append(Function(source.joined(at, call), owner, source.joined(start, at),
                          _tensor_parameters(source, call), first, (opening + 1, close),
                          initial=_initial(source, source.partner[call] + 1, opening)))
    return True


def _initialises(source, i, opening):
    """True if the brace initializes a member, `: first(1), second{2} {`. Then it follows a word."""
    while i < opening and source.text_of(i) != ":":
        i = source.partner[i] + 1 if source.text_of(i) in ("(", "[") else i + 1
    before = source.tokens[opening - 1]
    return i < opening and (before.kind == "word" or before.text == ">")


def _initial(source, i, opening):
    """The arguments in `: first(1), second{2, 3}`."""
    while i < opening and source.text_of(i) != ":":
        i = source.partner[i] + 1 if source.text_of(i) in ("(", "[") else i + 1
    found = []
    while i < opening:
        if source.text_of(i) in ("(", "{"):
            found += source.split(i + 1, source.partner[i])
        i = source.partner.get(i, i) + 1 if source.text_of(i) in ("(", "{") else i + 1
    return found


def _template_list(source, i):
    depth = 0
    while True:
        text = source.text_of(i)
        depth += (text == "<") - (text == ">")
        i += 1
        if depth == 0:
            return i


def _tensor_parameters(source, call):
    names = []
    for begin, end in source.split(call + 1, source.partner[call]):
        words = [source.text_of(i) for i in range(begin, end)]
        if words[:3] == ["const", "Tensor", "&"] and len(words) == 4:
            names.append(words[3])
    return names


def _member(source, begin, end, owner):
    """Members of a class that hold saved tensors: `Saved x, weight;`."""
    words = [source.text_of(i) for i in range(begin, end)]
    if owner is None or words[:1] != ["Saved"] or "(" in words:
        return
    for first, last in source.split(begin, end):
        names = [source.text_of(i) for i in range(first, last)]
        if "=" in names:
            names = names[:names.index("=")]
        if names and names[-1].isidentifier():
            owner.saved.append(names[-1])
