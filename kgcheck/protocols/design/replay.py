"""Designs a protocol again from its folder: no model, no graph, no paper."""

from pathlib import Path

from kgcheck.errors import InputFormat, InputMissing
from kgcheck.inputs import read_whole
from kgcheck.outputs import temporary_folder
from kgcheck.protocols.design.by_model import ModelDesigner
from kgcheck.protocols.design.by_rules import design_by_rules
from kgcheck.protocols.design.conversation import DesignConversation, DesignFolder
from kgcheck.protocols.protocol import StudyProtocol
from kgcheck.protocols.rendering import write

FILE = "protocol.json"


def design_again(folder: Path) -> tuple[StudyProtocol, bool]:
    """Design a protocol again."""
    design = DesignFolder(folder)
    material = design.read() if folder.is_dir() else None
    if material is None:
        raise InputMissing(f"there is no design in {folder}", "name a folder of kgcheck protocol design")
    if material.made_by == "rules":
        protocol = design_by_rules(material)
    else:
        talk = DesignConversation(design)
        protocol = ModelDesigner(material, talk).design()
        if not talk.whole:
            raise InputFormat(f"the transcript in {folder} has answers to nothing", "design it again in another folder")
    with temporary_folder() as place:
        write(protocol, place)
        same = read_whole(folder / FILE) == read_whole(place / FILE)
    return protocol, same
