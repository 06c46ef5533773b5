"""Small fleets in memory, for tests."""

from shoal.edge import Budget
from shoal.edge.collector import Collector
from shoal.edge.device import Device
from shoal.edge.fleet import Fleet, Plan, enrolled
from shoal.edge.keys import Keys
from shoal.edge.links import MemoryLink
from shoal.edge.response import units
from shoal.edge.rounds import Field


def make_field(n=6, groups=1, link=None, patience=0.0, **plan):
    """Meters, a collector, and what is between them."""
    terms = Plan(**{"lower": 0.0, "upper": 4.0, "w": 4} | plan)
    keys, own = [Keys.draw() for _ in range(n)], Keys.draw()
    meters = tuple(enrolled(one.public, f"group-{at % groups}") for at, one in enumerate(keys))
    fleet = Fleet(plan=terms, collector=enrolled(own.public), meters=meters)
    devices = {at: Device(fleet, one, Budget(units(terms.epsilon), terms.w)) for at, one in enumerate(keys)}
    link = MemoryLink() if link is None else link(fleet)
    return Field(Collector(fleet, own), devices, link, patience)


def step(phases, field=None):
    """Run phases to their end; with a field, messages are delivered."""
    for outgoing in phases:
        for receiver, content in outgoing if field else ():
            for reply in field.devices[receiver].hear(content):
                field.collector.receive(reply)
