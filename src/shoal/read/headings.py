"""Words that files use for their columns, in several languages. They are evidence; the content of a column is
stronger."""

from __future__ import annotations

import itertools
import re
import unicodedata

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_LISTS = {
    # Numbers that a market gives to a point of supply.
    "point": "mpan mpancore mprn mpr mpxn mpid nmi cups ean esiid esi icp prm pdl pod pdr gsrn meterpoint "
    "meteringpoint malepunktsid malepunkt maalepunkt meteringpointid zahlpunkt zaehlpunkt messlokation marktlokation "
    "malo melo mrid lclid usagepoint servicepoint supplypoint uuid mac",
    "meter": "meter meterid meterno metercode zahler zaehler zahlernummer compteur contador contatore teller mittari "
    "maler serial device gerat geraet sensor household haushalt home house dwelling series seriesid licznik "
    "tagname tags point punkt",
    "owner": "customer customerid consumer client kunde user site siteid property building station premise "
    "location anlage anlegg name code subject person participant",
    "account": "account konto compte cuenta conto contract vertrag contrato",
    "id": "id ids identifier identifiant nr no number nummer numero key ref reference",
    "time": "date datum fecha horodate time timestamp tid tijd tijdstip dato data zeit uhrzeit zeitstempel heure hora "
    "datetime datetimes day dag tag jour dia giorno dttm ts ticks datenum yymmdd ddmmyy when datumzeit tidspunkt "
    "tidpunkt period settlement sett",
    "start": "start from fra van von desde debut begin beginning begins inicio starttime startdate ab since",
    "end": "end ending ends til tot bis hasta fin stop endtime enddate to until fine",
    "slot": "period periode periodo hora hour hours hr stunde heure time slot interval sp hh halfhour quarter uur ora",
    "later": "revision report created updated received run load loaded generated export exported modified upload "
    "processed publish published insert inserted billing lastchanged",
    "value": "value values valeur wert waarde verdi varde valor consumption consumo usage used use forbruk verbrauch "
    "verbruik consommation volume quantity mengde maengde mangde mængde menge energy energie energia reading readings "
    "read actual load amount kwh wh mwh gwh kw w mw kvarh kvar kva kvah m3 therms therm gas watt watts leitung power "
    "generation generated production produced import export injection einspeisung bezug afname injectie teruglevering "
    "levering lieferung pobrana oddana pobor oddanie demand imp exp",
    "cost": "cost costs price prices prix preis preise kosten charge charges tax taxes eur gbp usd coste costo pris "
    "fee bill billed betrag unitrate amountdue pence cents belopp",
    "status": "status quality qualite qualitat kvalitet validation validatiestatus estimated estimate est flag flags "
    "estimation metodo method methode note notes anomaly readtype comment comments reason omschrijving kennzeichen "
    "anmerkung etape validity valid imputed error alarm",
    "unit": "unit units uom einheit eenheid enhed unite unidad enhet maleenhed unita",
    "channel": "channel register direction flow category quantity measurement suffix obis commodity grandeur richting "
    "kind registro energytype readingtype datastream kanal type typ measurementtype stream parameter variable "
    "rodzaj art",
    # What belongs to a row of a file or to a place, and names no series.
    "record": "batch row rowid rownum record line file job run message msg transaction seq sequence index idx",
    "place": "postcode zip zipcode plz postal region city town district county latitude longitude lat lon lng tariff",
    "total": "total totals sum summe somme totaal totalt totale gesamt",
    "offset": "offset utcoffset gmtoffset tzoffset dst isdst summer summertime verano sommer sommerzeit zomertijd "
    "sommertid estate invierno winter season",
}
_WORDS = {group: frozenset(words.split()) for group, words in _LISTS.items()}
_UNITS = re.compile(
    r"(?i)(?<![a-z])(k?m?g?wh|k?m?g?w|k?va(?:r(?:h)?|h)?|kvar(?:h)?|m3|m³|"
    r"therms?|mj|gj|kj|btu|ccf|cf|litres?|liters?|l|°c|deg ?c|v|a|hz|%)"
    r"(?![a-z])"
)


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name in lower case, without accents; also all of them joined.

    Examples
    --------
    >>> words_of("ReadDateUK"), words_of("Fra_dato"), words_of("MålepunktsID"), words_of("kWh_1")
    (('read', 'date', 'uk'), ('fra', 'dato'), ('malepunkts', 'id'), ('kwh', '1'))
    """
    plain = name.replace("ø", "o").replace("Ø", "O").replace("æ", "ae").replace("Æ", "Ae").replace("ß", "ss")
    plain = "".join(c for c in unicodedata.normalize("NFD", plain) if not unicodedata.combining(c))
    return tuple(word for word in re.split(r"[^a-z0-9]+", _apart(plain).lower()) if word)


def _apart(name: str) -> str:
    """A name with blanks between its words; units stay whole."""
    marked = re.sub(
        r"(?<![A-Za-z])[kKMG]?(?:W[hH]?|V[Aa][Rr]?[hH]?)(?![a-z]|(?<=[A-Z])[A-Z])", lambda unit: unit[0].lower(), name
    )
    return _CAMEL.sub(" ", marked)


def groups_of(name: str) -> frozenset[str]:
    """The word groups that a name matches: "point", "time", "cost", ..."""
    words = words_of(name)
    bare = {word.rstrip("0123456789") for word in words}
    joined = {"".join(words), *("".join(pair) for pair in itertools.pairwise(words))}
    found = {group for group, listed in _WORDS.items() if listed & (set(words) | joined | bare)}
    if any(word.endswith(("nummer", "nummern", "number")) for word in words):
        found.add("id")
    if re.search(r"(?i)[$£€]|(?<![a-z])(?:p|c|ct|cents?|pence|eur|gbp|usd) *(?:/|per) *[km]?wh", name):
        found.add("cost")
    return frozenset(found)


def unit_of(text: str) -> str | None:
    """The unit that a name or a cell states.

    Examples
    --------
    >>> unit_of("Consumption (kwh)"), unit_of("Read Value"), unit_of("USAGE_KWH"), unit_of("Actual Total Load [MW]")
    ('kWh', None, 'kWh', 'MW')
    """
    for found in _UNITS.finditer(_apart(text).replace("_", " ")):
        word = found[1]
        if len(word) == 1 and not re.search(rf"[\[(/ ]{re.escape(word)}[\])]?$", f" {text}"):
            continue
        if text == word and word.islower() and len(word) == 1:
            continue  # a, b and c are names
        return _SPELT.get(word.lower(), word)
    return None


_SPELT = {
    unit.lower(): unit
    for unit in "kWh MWh GWh Wh kW MW GW W kVA VA kVAr kVArh kVAh m3 therms therm MJ GJ kJ BTU Hz V A".split()  # noqa: SIM905
}
