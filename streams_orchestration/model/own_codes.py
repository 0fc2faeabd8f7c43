"""Codes of conditions that have no message id in IBM Streams: `SO` and four digits.

Ranges: 00 reading the file, 01 names and streams, 02 values, 03 schemas and ports, 04 annotations and configs,
05 expansion, 06 decoupling problems and, from 0620 on, decisions, 07 applications of IBM Streams, 08 event time,
10 regions, 11 fusion, 12 threading, 13 copying, 20 and up everything after the compiler.
"""

from __future__ import annotations

from streams_orchestration.model.codes import Code, error, warning

OWN_CODES: dict[str, Code] = {
    "SO0001": error(
        "The spec cannot be read.",
        "Name a file that exists and that this user may read.",
    ),
    "SO0002": error("The spec is not UTF-8 text.", "Save the file as UTF-8."),
    "SO0003": error(
        "The spec is not well-formed YAML.",
        "Correct the YAML: often the indentation, a quote that is not closed, or no space behind a colon.",
    ),
    "SO0004": error(
        "A mapping has a key twice.",
        "Keep the one that is meant and remove the other.",
    ),
    "SO0005": error(
        "The spec uses merge keys, custom tags, or an alias inside its own anchor.",
        "Write the values out; composites and inherited configs do what merge keys would.",
    ),
    "SO0006": error(
        "The spec is nested too deeply, or too large with its aliases written out.",
        "Use composites instead of deep nesting.",
    ),
    "SO0007": error(
        "There is no such key.",
        "Correct the spelling, or remove the key; the reference lists the keys of every part of a spec.",
    ),
    "SO0008": error(
        "A required key is missing.",
        "Add the key on the level of this line; the reference shows it with a value.",
    ),
    "SO0009": error(
        "A value has the wrong type.",
        "Write a value of the type that is expected; a text that looks like a number or a truth value needs quotes.",
    ),
    "SO0010": error(
        "A value is not one of those allowed.",
        "Write one of the values that are expected, letter for letter.",
    ),
    "SO0011": error(
        "The file of Python makes no application.",
        "Correct the line that raises, or name the variable that holds the application: app.py:name.",
    ),
    "SO0101": error(
        "There is no operator or composite of this name.",
        "Declare it under `operators` or `composites`, or write it as package.module:Class.",
    ),
    "SO0102": error(
        "No stream of this name is in scope.", "Use a stream of the same graph or an input port around it."
    ),
    "SO0103": error(
        "Two invocations of one graph have the same name.",
        "Give one of the two another `name`.",
    ),
    "SO0104": error(
        "Two streams of one graph, or a stream and an input port, have the same name.",
        "Rename one of the two under `outputs`: `outputs: [NAME]`.",
    ),
    "SO0105": error(
        "A name is not usable.",
        "Use letters, digits and underscores, starting with a letter; streams may have hyphens, too. An application's "
        "name has 63 characters at most, the full name of an operator or stream 200.",
    ),
    "SO0106": error(
        "Composites contain one another in a circle.",
        "Remove the invocation that closes the circle; a composite cannot contain itself.",
    ),
    "SO0107": error("A composite's output is no stream of its graph.", "Name a stream that an invocation produces."),
    "SO0108": error(
        "Two ports of one operator or composite have the same name.",
        "Give one of the two ports another name.",
    ),
    "SO0109": error(
        "A stream feeds one input port twice.",
        "Remove the second mention of the stream from this input.",
    ),
    "SO0110": warning(
        "Nothing reads this stream.",
        "Read it in some operator's `inputs`, or remove it, with its operator where nothing else comes from that.",
    ),
    "SO0111": warning(
        "A declaration is never used.",
        "Remove the declaration, or correct the name where it was meant to be used.",
    ),
    "SO0112": error(
        "A composite or declared operator has a name that is taken.",
        "Give the composite or the declared operator a name of its own.",
    ),
    "SO0113": error("The application has no operators.", "Add invocations to `graph`."),
    "SO0114": error(
        "Two operators have the same uid, or one has the name of another as its uid.",
        "Give each operator its own uid. If a composite is used several times, put the uid on its invocations.",
    ),
    "SO0201": error("${name} refers to no submission-time value.", "Declare it under `submission`."),
    "SO0202": error("A submission-time value without a default was not given.", "Give it with --set NAME=VALUE."),
    "SO0203": error(
        "A submission-time value does not fit its type.",
        "Give a value of the declared type, or change `type` under `submission`.",
    ),
    "SO0204": error(
        "A value was given for a name that the application does not declare.",
        "Correct the name after --set, or declare it under `submission`.",
    ),
    "SO0205": error(
        "A channel function is used where no channel is known.",
        "Use the channel functions on operators within a parallel region only; elsewhere write a literal or ${name}.",
    ),
    "SO0206": error(
        "There is no function of this name.",
        "Use getChannel(), getMaxChannels(), getLocalChannel() or getLocalMaxChannels().",
    ),
    "SO0207": error(
        "A width pattern matches no parallel region.",
        "Write the full logical name of an operator that has the `parallel` annotation, with `*` for any part of it.",
    ),
    "SO0209": error(
        "A profile names a stream twice.",
        "Remove one of the two entries from the profile, or measure anew.",
    ),
    "SO0210": error(
        "The profile was measured on another application.",
        "Measure this application with `streams profile`; if it was renamed, correct `application` in the profile.",
    ),
    "SO0211": warning(
        "A profile names a stream or an operator that the application does not have.",
        "Measure anew with `streams profile`, or correct the name in the profile.",
    ),
    "SO0212": warning(
        "A profile says nothing of a stream, so its declared rate counts, or what enters its operator.",
        "Measure for longer, or add the stream to the profile.",
    ),
    "SO0213": error(
        "The profile does not say what operators, or sending between PEs, cost.",
        "Measure with `streams profile APP`; a profile of streams alone is enough for fusion only.",
    ),
    "SO0214": warning(
        "The profile says nothing of an operator's processor time, so it counts as nothing.",
        "Measure for longer, or while the operator works.",
    ),
    "SO0216": error(
        "The width `spark` is used where it means nothing.",
        "Use it on Sql and DataFrame operators only, without partitionBy, broadcast and replicateHostTags.",
    ),
    "SO0217": error(
        "There is no time zone of this name.",
        "Write a name of the IANA database, letter for letter, as in `timeZone: Europe/Berlin`.",
    ),
    "SO0301": error(
        "A tuple type cannot be parsed.",
        'Write it in Spark\'s DDL, `name type, name type`, as in "carrier string, dep_delay double".',
    ),
    "SO0302": error("There is no schema of this name.", "Declare it under `schemas`, or write the tuple type itself."),
    "SO0303": error(
        "An operator has too few or too many ports.",
        "Add or remove entries of `inputs` or `outputs` until there are as many as the operator has ports.",
    ),
    "SO0304": error(
        "Streams of different tuple types feed one input port.",
        "Give each stream an input port of its own, or make the types equal with a Functor in front.",
    ),
    "SO0305": error(
        "A port of this number does not exist.",
        "Count the ports from 0, in the order of `inputs`.",
    ),
    "SO0306": error(
        "A port mutates attributes that its stream lacks.",
        "Name attributes of the stream that this port reads under `mutates`.",
    ),
    "SO0307": error(
        "`mutates` contradicts `mutable: false`.",
        "Remove `mutable: false` if the operator changes these attributes, else `mutates`.",
    ),
    "SO0308": warning(
        "Windows that window markers close are behind a Custom, and nothing in front of it makes such markers.",
        "Let a function of the Custom make markers, put a Punctor in front of the windows, or give them a size.",
    ),
    "SO0401": error(
        "A number is outside of its range.",
        "Write a finite number within the limits of this key.",
    ),
    "SO0402": error(
        "`threads` and `elastic` are for the dynamic threading model only.",
        "Write `model: dynamic`, or remove `threads` and `elastic`.",
    ),
    "SO0403": error(
        "An input port has two queues.",
        "Remove all but one `threadedPort` entry of this port.",
    ),
    "SO0404": error("There is no host pool of this name.", "Declare it under `hostPools`."),
    "SO0405": error(
        "The parameters of an Import or Export do not go together.",
        "Give an Import `subscription`, or `application` and `streamId`; an Export `properties` or `streamId`.",
    ),
    "SO0406": error(
        "An Import and an Export are connected directly.",
        "Put an operator, a Functor for example, between the Import and the Export.",
    ),
    "SO0407": error("A composite takes no parameters.", "Use a submission-time value, ${name}, inside the composite."),
    "SO0408": error(
        "`mutates` is declared for an input of an operator that is no Custom.",
        "Declare the operator under `operators` with `inputs: [{mutates: [...]}]`, and remove it here.",
    ),
    "SO0409": warning(
        "An Import or Export has nothing to match by.",
        "Give an Import a subscription or a streamId, an Export properties or a streamId.",
    ),
    "SO0501": error(
        "The expanded application is too large.",
        "Lower the widths of parallel regions, first of those within one another, since these multiply.",
    ),
    "SO0601": error(
        "Two operators of a decoupling problem have the same id.",
        "Give one of the two another id.",
    ),
    "SO0602": error("An operator reads one that the problem does not have.", "Correct the name, or add the operator."),
    "SO0603": error(
        "What an operator reads or costs does not suit its kind.",
        "Sources and receiving networks read nothing, tees one operator, all others at least one; nothing reads a sink "
        "or a sending network; only networks have `recv_cpu`.",
    ),
    "SO0604": error(
        "An operator is pinned to a machine that there is not.", "Pin it to one of 0 to k - 1, or raise k."
    ),
    "SO0605": error("Tees of one stream carry different amounts.", "Give all of them the amount of the stream."),
    "SO0606": error("Nothing enters a loop.", "Connect the loop with a source or a receiving network."),
    "SO0607": error(
        "Operators that must be on one machine are pinned to different ones, or to be apart.",
        "Remove one of the pins, or one of the entries that keep these operators together or apart.",
    ),
    "SO0608": error("No decision keeps to everything that the problem demands.", "Drop pins, or raise the budgets."),
    "SO0609": error("No decision was found within the time limit.", "Raise --time-limit, or drop pins."),
    "SO0610": warning(
        "It is not known how much an output carries, so it is not cut.",
        "Measure it and add `card`; 0 stands for an output that carries nothing.",
    ),
    "SO0611": error(
        "An application cannot be decoupled like this.",
        "Name a PE of the application with --pe, and give a profile that was measured while it worked.",
    ),
    "SO0620": error(
        "The decoupling decision was made for another application.",
        "Decide with `streams decouple` for this application, and give the file that it writes.",
    ),
    "SO0621": error(
        "A decoupling decision names an operator that the application does not have.",
        "Decide anew, or correct the physical name, `Out[0].A`.",
    ),
    "SO0622": error(
        "The operators, the connections or the fusion are others than when it was decided.",
        "Compile with the options that it was decided with, or decide anew.",
    ),
    "SO0623": error(
        "A decoupling decision parts operators that placement configs keep together.",
        "Put them on one machine, or drop the colocation.",
    ),
    "SO0624": error(
        "A decoupling decision parts an atomic group.", "Put its operators on one machine, or drop `atomic`."
    ),
    "SO0625": error(
        "A decoupling decision lets PEs feed one another in a loop: none of them could end, or close an epoch.",
        "Let streams go forward only: put what is behind the moved operators on a machine of its own, or move it, too.",
    ),
    "SO0740": error(
        "The application compiles and does not run, since its operators have no parameters and no logic.",
        "Compile and run the files of SPL that it was compiled from.",
    ),
    "SO0741": error(
        "The compiled application of IBM Streams cannot be read.",
        "Name the .adl or .sab file that the compiler of Streams wrote, undamaged, of version 3 to 6.",
    ),
    "SO0801": error(
        "A length of event time is no whole number of ticks of the event-time attribute.",
        "Write a multiple of a tick: of 0.001 s for milliseconds, of 0.000001 s for timestamps.",
    ),
    "SO0802": error(
        "Streams of two event-time graphs enter one operator, which has one watermark only.",
        "Give both annotations the same attribute, or annotate the operator itself.",
    ),
    "SO0803": warning(
        "Nothing behind an `eventTime` annotation uses event time.",
        "Drop the annotation, or use a window or parameter of event time behind it.",
    ),
    "SO0804": warning(
        "An Aggregate gives its result a time that operators of event time behind it will find too late.",
        "Let the attribute be paneTime() in `output`.",
    ),
    "SO0805": warning(
        "A stream that closes a loop brings no watermark, so its tuples may be late.",
        "Nothing, if that is meant; else lead the stream out of the loop.",
    ),
    "SO0806": error(
        "A parameter needs event time, and no event time arrives at the operator.",
        "Annotate an operator in front of it with eventTime, and let the attribute pass all operators in between.",
    ),
    "SO0807": error(
        "A window of event time evicts partitions.", "Drop the part behind `partitioned`; discardAge closes panes."
    ),
    "SO0808": warning(
        "Watermarks come at every tuple, in front of an operator that is called once for each of them.",
        "Set minimumGap above zero.",
    ),
    "SO0809": warning("A key of `eventTime` has no effect without another one.", "Add maxAhead, or drop the key."),
    "SO0810": warning(
        "A window of event time keeps ten thousand open panes or more of each partition.",
        "Write a longer creationPeriod, or a shorter intervalDuration or discardAge.",
    ),
    "SO0811": error(
        "A key of `eventTime` is for sources only, and the operator has an input port.",
        "Annotate the source with this key, and let the attribute pass the operators in between; or drop the key.",
    ),
    "SO1001": warning(
        "An annotated composite has no operator left for its region, since all inside carry annotations of their own.",
        "Drop the annotation of the composite, or those inside.",
    ),
    "SO1002": error(
        "An input port of a region's member reads streams of the region and an import, so it could never drain.",
        "Give the import a port of its own.",
    ),
    "SO1003": warning(
        "A member of a region is not restartable, so the region cannot recover from its failure.",
        "Drop `restartable: false`.",
    ),
    "SO1101": error(
        "A Sql or DataFrame operator is to share a PE with an operator that Spark cannot run in the same query.",
        "Take the operator out of the colocation: such operators share PEs with one another only.",
    ),
    "SO1201": error(
        "An operator waits on one input port for a call on another, and one thread drives both.",
        "Put a threadedPort on one of the two ports, or place the producers in different PEs.",
    ),
    "SO5001": error(
        "An operator has no implementation, so the application can be compiled but not run.",
        "Declare an `implementation` for it, or use another operator.",
    ),
    "SO5002": error(
        "The class that implements an operator cannot be imported, or lacks the method that handles tuples.",
        "Mend its module, correct the name after `implementation`, or install its package.",
    ),
    "SO5003": error(
        "An operator does not take this parameter or value.",
        "Write the parameters and values that it takes; docs/standard-operators.md lists those of every operator.",
    ),
    "SO5004": error(
        "An operator's parameters do not fit its streams or its files.",
        "Make parameters, schemas and files agree: correct the one that is wrong, or put the file there.",
    ),
    "SO5005": error(
        "An Import cannot be connected: its subscription or filter cannot be read, or its stream has no schema.",
        "Write `subscription` as a condition over properties, `filter` over attributes; give the output a schema.",
    ),
    "SO5006": error(
        "An Export cannot be connected: its properties are not values to subscribe to, or its stream has no schema.",
        "Give `properties` that are numbers, texts or lists of these, and the exported stream a schema.",
    ),
    "SO5007": warning(
        "A queue is to drop tuples when it is full; here it holds the producer up, and nothing is lost.",
        "Use Sys.Wait, or thin the stream out with Filter or Throttle.",
    ),
    "SO5008": warning(
        "An input file is not there, or cannot be read, where the application is compiled.",
        "Correct the path, or put the file there before the application is deployed.",
    ),
    "SO5009": error(
        "The application compiles, but its PEs cannot run as they are.",
        "Part or fuse these operators in another way, or declare the missing schema where the stream is produced.",
    ),
    "SO5010": error(
        "Spark refuses a query, the function of a DataFrame operator raises, or the delay of results is not known.",
        "Correct the query or function, or declare outputDelay; docs/dataframes.md says which queries can be replayed.",
    ),
    "SO5012": error(
        "A Spark query is annotated with eventTime, and an operator behind it uses event time.",
        "Annotate an operator behind the query, or let the query take event time from its input.",
    ),
    "SO5011": warning(
        "A parameter is allowed as it is, and something outside will rarely take it as it is meant.",
        "Write what readers and other writers expect, or leave it as it is where there are none.",
    ),
}
