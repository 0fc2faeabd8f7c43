"""Codes of conditions that have no message id in IBM Streams: `SO` and four digits.

Ranges: 00 reading the file, 01 names and streams, 02 values, 03 schemas and ports, 04 annotations and configs,
05 expansion, 06 decoupling problems and, from 0620 on, decisions, 07 applications of IBM Streams, 08 event time,
10 regions, 11 fusion, 12 threading, 13 copying, 20 and up everything after the compiler.
"""

from __future__ import annotations

from streams_orchestration.model.codes import Code, error, warning
from streams_orchestration.model.decoupling_codes import DECOUPLING_CODES

OWN_CODES: dict[str, Code] = {
    "SO0001": error(
        "The spec cannot be read.",
        "Name a file that exists and that this user may read.",
    ),
    "SO0002": error("The spec is not UTF-8 text.", "Save the file as UTF-8."),
    "SO0003": error(
        "The spec is not well-formed YAML.",
        "Correct the YAML: often the indentation, a quote that is not closed, or no space after a colon.",
    ),
    "SO0004": error(
        "A mapping has a key twice.",
        "Keep one of the two entries and remove the other.",
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
        "The Python file makes no application.",
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
        "A name has a character that names cannot have, or is too long.",
        "Use letters, digits and underscores, starting with a letter; streams may have hyphens, too. An application's "
        "name has 63 characters at most, the full name of an operator or stream 200.",
    ),
    "SO0106": error(
        "Composites contain one another in a cycle.",
        "Remove the invocation that closes the circle; a composite cannot contain itself.",
    ),
    "SO0107": error(
        "An output of a composite is not a stream of its graph.", "Name a stream that an invocation produces."
    ),
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
        "Read it in some operator's `inputs`, or remove it; remove its operator, too, if that has no other output.",
    ),
    "SO0111": warning(
        "A declaration is never used.",
        "Remove the declaration, or correct the name at the place that should use it.",
    ),
    "SO0112": error(
        "A composite or declared operator has the name of another operator.",
        "Give the composite or the declared operator a name of its own.",
    ),
    "SO0113": error("The application has no operators.", "Add invocations to `graph`."),
    "SO0114": error(
        "Two operators have the same uid, or one has as its uid the full name of another that has no uid.",
        "Give each operator its own uid. If a composite is used several times, put the uid on its invocations.",
    ),
    "SO0201": error(
        "${name} refers to a submission-time value that is not declared.", "Declare it under `submission`."
    ),
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
        "A channel function, such as getChannel(), is used outside of a parallel region.",
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
        "Remove one of the two entries from the profile, or measure again.",
    ),
    "SO0210": error(
        "The profile was measured on another application.",
        "Measure this application with `streams profile`; if it was renamed, correct `application` in the profile.",
    ),
    "SO0211": warning(
        "A profile names a stream or an operator that the application does not have.",
        "Measure again with `streams profile`, or correct the name in the profile.",
    ),
    "SO0212": warning(
        "The profile has no rate of a stream, so its declared rate is used, or else the rate of its operator's input.",
        "Measure for longer, or add the stream to the profile.",
    ),
    "SO0213": error(
        "The profile lacks the costs of operators, or of sending tuples between PEs.",
        "Measure with `streams profile APP`; a profile of streams alone is enough for fusion only.",
    ),
    "SO0214": warning(
        "The profile has no processor time of an operator, so zero is used.",
        "Measure for longer, or while the operator works.",
    ),
    "SO0216": error(
        "The width `spark` is used where it is not allowed.",
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
        "`mutates` of a port names attributes that its stream lacks.",
        "Under `mutates`, name attributes of the stream that this port reads.",
    ),
    "SO0307": error(
        "`mutates` contradicts `mutable: false`.",
        "Remove `mutable: false` if the operator changes these attributes, else `mutates`.",
    ),
    "SO0308": warning(
        "Windows that window markers close are downstream of a Custom from which no markers are known to come.",
        "Make markers in a function or in the logic of the Custom, put a Punctor in front of the windows, or give them "
        "a size.",
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
        "The parameters of an Import or Export cannot be combined.",
        "Give an Import `subscription`, or `application` and `streamId`; an Export `properties` or `streamId`.",
    ),
    "SO0406": error(
        "An Import and an Export are connected directly.",
        "Put an operator, a Functor for example, between the Import and the Export.",
    ),
    "SO0407": error("A composite takes no parameters.", "Use a submission-time value, ${name}, inside the composite."),
    "SO0408": error(
        "`mutates` is declared for an input of an operator that is not a Custom.",
        "Declare the operator under `operators` with `inputs: [{mutates: [...]}]`, and remove it here.",
    ),
    "SO0409": warning(
        "An Import or Export matches nothing: it names neither a stream nor properties.",
        "Give an Import a subscription or a streamId, an Export properties or a streamId.",
    ),
    "SO0501": error(
        "The expanded application is too large.",
        "Lower the widths of parallel regions, first of nested ones, since their widths multiply.",
    ),
    **DECOUPLING_CODES,
    "SO0740": error(
        "The application compiles but cannot run: the file has neither parameters nor logic of its operators.",
        "Compile and run the SPL files from which it was compiled.",
    ),
    "SO0741": error(
        "The compiled application of IBM Streams cannot be read.",
        "Name an undamaged .adl or .sab file from the compiler of Streams, of version 3 to 6.",
    ),
    "SO0801": error(
        "A length of event time is not a whole number of ticks of the event-time attribute.",
        "Write a multiple of a tick: of 0.001 s for milliseconds, of 0.000001 s for timestamps.",
    ),
    "SO0802": error(
        "Streams of two event-time graphs enter one operator, which has one watermark only.",
        "Give both annotations the same attribute, or annotate the operator itself.",
    ),
    "SO0803": warning(
        "No operator downstream of an `eventTime` annotation uses event time.",
        "Remove the annotation, or use a window or parameter of event time downstream.",
    ),
    "SO0804": warning(
        "An Aggregate gives its results a time that is late for event-time operators downstream.",
        "Assign paneTime() to the attribute in `output`.",
    ),
    "SO0805": warning(
        "A stream that closes a loop has no watermark, so its tuples may be late.",
        "Do nothing if late tuples are acceptable; else lead the stream out of the loop.",
    ),
    "SO0806": error(
        "A parameter needs event time, and no event time arrives at the operator.",
        "Annotate an operator upstream of it with eventTime, and keep the attribute in all streams between them.",
    ),
    "SO0807": error(
        "A window of event time evicts partitions.", "Remove the policy after `partitioned`; discardAge closes panes."
    ),
    "SO0808": warning(
        "Every tuple has a watermark, and an operator downstream is called once for each watermark, which is slow.",
        "Set minimumGap above zero.",
    ),
    "SO0809": warning("A key of `eventTime` has no effect without another one.", "Add maxAhead, or remove the key."),
    "SO0810": warning(
        "A window of event time keeps ten thousand or more open panes for each partition.",
        "Write a longer creationPeriod, or a shorter intervalDuration or discardAge.",
    ),
    "SO0811": error(
        "A key of `eventTime` is for sources only, and the operator has an input port.",
        "Annotate the source with this key, and keep the attribute in the streams between; or remove the key.",
    ),
    "SO1001": warning(
        "A composite has an annotation for a region, but all operators inside have annotations of their own.",
        "Remove the annotation of the composite, or those inside.",
    ),
    "SO1002": error(
        "An input port of a region's member reads streams of the region and an import, so it could never drain.",
        "Give the import a port of its own.",
    ),
    "SO1003": warning(
        "A member of a region is not restartable, so the region cannot recover from its failure.",
        "Remove `restartable: false`.",
    ),
    "SO1101": error(
        "A config puts a Sql or DataFrame operator into one PE with an operator that Spark cannot run in the same "
        "query.",
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
        "Repair its module, correct the name after `implementation`, or install its package.",
    ),
    "SO5003": error(
        "An operator does not take this parameter or value.",
        "Write the parameters and values that it takes; docs/standard-operators.md lists them for every operator.",
    ),
    "SO5004": error(
        "An operator's parameters do not fit its streams or its files.",
        "Make parameters, schemas and files agree: correct the one that is wrong, or supply the file.",
    ),
    "SO5005": error(
        "An Import cannot be connected: its subscription or filter is malformed, or its stream has no schema.",
        "Write `subscription` as a condition over properties, `filter` over attributes; give the output a schema.",
    ),
    "SO5006": error(
        "An Export cannot be connected: a property has a type that properties cannot have, or its stream has no "
        "schema.",
        "Give `properties` that are numbers, texts or lists of these, and the exported stream a schema.",
    ),
    "SO5007": warning(
        "A queue has a policy that drops tuples when it is full. Here the producer waits instead, and no tuple is "
        "lost.",
        "Use Sys.Wait, or thin the stream out with Filter or Throttle.",
    ),
    "SO5008": warning(
        "An input file is missing or cannot be read where the application is compiled.",
        "Correct the path, or supply the file before the application is deployed.",
    ),
    "SO5009": error(
        "The application compiles, but its PEs cannot run as they are.",
        "Fuse or separate these operators in another way, or declare the missing schema where the stream is produced.",
    ),
    "SO5010": error(
        "Spark refuses a query, the function of a DataFrame operator raises, or the delay of results is not known.",
        "Correct the query or function, or declare outputDelay; docs/dataframes.md says which queries can be replayed.",
    ),
    "SO5011": warning(
        "The value is allowed, but readers and other writers of the target rarely expect it.",
        "Write the usual value, or keep this one if nothing else uses the target.",
    ),
    "SO5012": error(
        "A Spark query is annotated with eventTime, and an operator downstream of the query uses event time.",
        "Annotate an operator downstream of the query, or take event time from the query's input.",
    ),
}
