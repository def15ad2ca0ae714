"""Invented prose to summarise."""

BEES = """Keeping bees on city roofs

Honey bees do well on city roofs, because parks and street trees flower from March to October. A
hive on a roof gives about 20 kg of honey a year, which is more than the average hive in farmland
gives. Dr. Alma Reyes counted the pollen of 48 hives and found that city bees visit twice as many
plants. It surprised nobody.

The wind is the greatest danger to a hive on a roof. Hives must be strapped down, and a low wall or
hedge on the weather side keeps the bees from being blown away as they land. Water has to be near,
or the bees will drink from the neighbours' balconies. Nobody likes that.

Neighbours should be asked first. Most complaints about bees come from swarms in May, and a keeper
who looks into the hive every week can prevent nearly all of them. A jar of honey now and then helps
as well."""

RAILWAY = """The night train returns

Night trains were given up by most railways in the years after 2005, when cheap flights took their
passengers. Now they are coming back, since travellers have begun to count the carbon of a journey.
A sleeping car costs approx. 3 million euros to build and carries only forty passengers, so every
seat has to earn more than one in a day coach.

Old sleeping cars are the bottleneck of the night train. Workshops in three countries rebuild
carriages that stood idle for ten years, and new ones cannot be delivered before 2029. The track is
the other difficulty. Repairs are done at night, so a sleeping car is often sent round by detours
that add hours to the timetable.

Fares decide whether the night train lasts. A bed must cost less than a flight and a hotel together,
e.g. by selling seats for day trips at both ends of the route."""

GERMAN = """Die Mühle am Bach

Die alte Mühle am Bach wird wieder in Betrieb genommen. Der Verein hat das Wasserrad in zwei Jahren
erneuert und die Mahlsteine geschärft. Das Wasserrad dreht sich sechsmal in der Minute und treibt
die Mahlsteine über ein Getriebe aus Holz an. Am 3. Mai wird die Mühle mit einem Fest eröffnet.

Das Mehl der Mühle wird im Dorf verkauft. Die Bäckerei im Dorf backt daraus ein dunkles Brot, das
lange frisch bleibt. Der Bach führt im Sommer wenig Wasser, und dann steht das Wasserrad still. Ein
kleiner Teich soll das Wasser für die Mühle sammeln."""

JAPANESE = """港の灯台は夜の海を照らします。灯台の光は船に道を教えます。霧の日には灯台の鐘が鳴ります。\
漁師は朝早く船を出します。魚市場は朝五時に始まります。"""
