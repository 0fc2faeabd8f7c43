"""Diagnostic codes with the message ids of IBM Streams, so that existing documentation of them applies."""

from __future__ import annotations

from streams_orchestration.model.codes import Code, error, warning

_PLACEMENT = "Two placement configs of operators that are colocated, directly or through others, contradict each other."
_SEPARATE = "Remove one of the two configs, or colocate the operators under different tags."
_HOST_AS_PE = "Host isolation together with host colocation requires one PE, which another config forbids."
_ONE_PE = "Remove the host isolation, the host colocation or the contradicting config."

STREAMS_CODES: dict[str, Code] = {
    # threaded ports, punctuation
    "CDISP0090E": error("The queue size of a threaded port is not an integer of at least 1.", "Give a positive size."),
    "CDISP0110E": error(
        "A port that expects window punctuation reads several streams, so markers of one would divide tuples of "
        "another.",
        "Feed the port with one stream; merge earlier and put a Punctor after the merge.",
    ),
    "CDISP0111E": error(
        "A port that expects window punctuation reads a stream that carries none.",
        "Put an operator that generates window punctuation, as Punctor does, in front of the port.",
    ),
    "CDISP0112E": error(
        "A port that expects window punctuation is reached only by a loop of punctuation-preserving operators.",
        "Put an operator that generates window punctuation into the loop.",
    ),
    "CDISP0116E": error(
        "byChannel() or byReplica() is used outside of a placement config.",
        "Use ${getChannel()} there, or move it to a colocation or exlocation config.",
    ),
    # placement
    "CDISP0284E": error(_PLACEMENT, _SEPARATE),
    "CDISP0285E": error(_PLACEMENT, "Give colocated operators the same `restartable`."),
    "CDISP0286E": error(_PLACEMENT, "Give colocated operators the same `relocatable`."),
    "CDISP0287E": error("An operator is relocatable but not restartable.", "Make it restartable, or not relocatable."),
    "CDISP0288E": error(_PLACEMENT, _SEPARATE),
    "CDISP0289E": error(_PLACEMENT, _SEPARATE),
    "CDISP0290E": error("Host colocation and host exlocation contradict each other.", _SEPARATE),
    "CDISP0291E": error(_HOST_AS_PE, _ONE_PE),
    "CDISP0292E": error(_HOST_AS_PE, _ONE_PE),
    "CDISP0293E": error(_HOST_AS_PE, _ONE_PE),
    "CDISP0294E": error(_HOST_AS_PE, _ONE_PE),
    "CDISP0295E": error(
        "Operators that must share a host name different hosts or pools.",
        "Give them the same host or pool, or remove the colocation.",
    ),
    "CDISP0525W": warning(
        "Host isolation together with host colocation puts all those operators into one PE.",
        "Write partitionColocation if one PE is intended, else remove one of the two configs.",
    ),
    "CDISP0562E": error(
        "A host pool has fewer hosts than its mutually exlocated operators need.",
        "Enlarge the pool or remove exlocations.",
    ),
    # checkpoint, restart
    "CDISP0407E": error(
        "The checkpoint config is neither `operatorDriven` nor `{periodic: seconds}`.", "Write one of these two."
    ),
    "CDISP0408E": error("The checkpoint config says periodic and operatorDriven.", "Keep one of the two."),
    "CDISP0410E": error("The checkpoint period is not above zero.", "Give a positive number of seconds."),
    "CDISP0429W": warning(
        "An operator that is never restarted has a checkpoint config; nothing is ever restored from it.",
        "Remove the checkpoint config or set `restartable: true`.",
    ),
    "CDISP0442E": error(
        "A port that expects window punctuation is fed by an Import, which may bring several streams.",
        "Put a Punctor between the Import and the port.",
    ),
    "CDISP0489E": error(
        "threadedPort annotates a composite.",
        "Move it to the invocation of the primitive operator that it is meant for.",
    ),
    # annotations
    "CDISP0678E": error(
        "The value must be a literal in the spec, not a submission-time value.", "Write the value instead of ${name}."
    ),
    "CDISP0682E": error(
        "An annotation value calls something other than a submission-time value.",
        "Write a literal or ${name} of a submission-time value.",
    ),
    "CDISP0796E": error(
        "There is no annotation of this name, or `eventTime` has no key of this name.",
        "Write parallel, consistent, autonomous, threading, eventTime or atomic. The page on "
        "event time lists the keys of eventTime, in annotations and of an Import.",
    ),
    "CDISP0797E": error(
        "The annotation has no key of this name.",
        "Correct the spelling, or remove the key; the reference lists the keys of every annotation.",
    ),
    "CDISP0798E": error("The annotation has a key twice.", "Keep one of the two."),
    "CDISP0799E": error("The annotation, or `eventTime` of an Import, lacks a key that it must have.", "Add the key."),
    "CDISP0809E": error(
        "The default of a submission-time value that a width uses is not an integer.", "Declare it with type int32."
    ),
    "CDISP0811E": error(
        "A value of an annotation, or of `eventTime` of an Import, has the wrong type.",
        "Write a value of the type that is expected.",
    ),
    "CDISP0812E": error(
        "The annotation is on the definition of a composite.", "Move it to the invocations of the composite."
    ),
    "CDISP0815E": error(
        "An Import or Export cannot have the annotation.",
        "Put the Import or Export into a composite with the operator that it connects with, and annotate the "
        "composite.",
    ),
    "CDISP0816E": error(
        "An Import or Export and the operator that it connects with are in different parallel regions.",
        "Put both into one composite and annotate that.",
    ),
    "CDISP0849E": error("This operator cannot have the annotation.", "Remove the annotation."),
    "CDISP0851E": error(
        "`threading` annotates the invocation of a primitive operator.", "Annotate a composite around the operator."
    ),
    # parallel regions
    "CDISP0729W": warning(
        "Tuples can circulate in a loop of operators, and with a full queue the loop can block forever.",
        "End the loop in a control port, or make sure that the loop does not multiply tuples.",
    ),
    "CDISP0819E": error(
        "A port that expects window punctuation reads from a parallel region, where markers multiply.",
        "Put a Punctor, or another operator that generates punctuation, between the region and the port.",
    ),
    "CDISP0820E": error(
        "A port that expects window punctuation reads across the border of another parallel region.",
        "Generate the punctuation inside the region that consumes it.",
    ),
    "CDISP0821E": error("A region's width is not a positive integer.", "Give an int32 of at least 1."),
    "CDISP0822E": error("partitionBy is an empty list.", "Give a list of {port, attributes}, or remove the key."),
    "CDISP0823E": error(
        "partitionBy or broadcast names neither an input port of the region nor a stream that such a port reads.",
        "Use a port name or the name of a stream that the port reads.",
    ),
    "CDISP0824E": error("partitionBy names an attribute that the stream lacks.", "Use an attribute of the stream."),
    "CDISP0825E": error("partitionBy names an attribute twice.", "Name it once."),
    "CDISP0826E": error("replicateHostTags is not a list of tags, or is empty.", "Give a list of host tags."),
    "CDISP0827E": error("An entry of partitionBy lacks its port or its attributes.", "Write {port, attributes}."),
    "CDISP0829E": error("The attributes of partitionBy are not a list of names.", "Give a list of attribute names."),
    "CDISP0846E": error(
        "There is more than one JobControlPlane.", "Keep one of them or none: the product does not need it."
    ),
    "CDISP0847D": warning("Detail of CDISP0846E: the place of the first one.", "See CDISP0846E."),
    "CDISP0848E": error("A JobControlPlane is in a parallel region.", "Move it to the main graph, or remove it."),
    "CDISP0852E": error("broadcast names a port twice.", "Name it once."),
    "CDISP0853E": error("A port is both partitioned and broadcast.", "Choose one of the two."),
    "CDISP0854E": error("partitionBy names a port twice.", "Give all attributes of the port in one entry."),
    "CDISR1164E": error("A width is below 1 with the values given.", "Give an int32 of at least 1."),
    # consistent regions
    "CDISP0670E": error(
        "An input port of a region's member mixes streams of a region with autonomous ones.",
        "Give the autonomous streams a port of their own, or take their producers into the region.",
    ),
    "CDISP0684E": error(
        "Regions that must merge take a value from two different submission-time values.",
        "Use one submission-time value in both annotations.",
    ),
    "CDISP0685D": warning("Detail of CDISP0684E: the place of an annotation with such a value.", "See CDISP0684E."),
    "CDISP0694E": error("An invocation is both consistent and autonomous.", "Keep one of the two annotations."),
    "CDISP0695E": error(
        "A member of a region has a checkpoint config, its own or inherited.",
        "Remove it: the region checkpoints its members.",
    ),
    "CDISP0697E": error(
        "An Import in a consistent composite, or an Export of a stream of a region's member, is not autonomous itself.",
        "Annotate the Import or Export with `autonomous: true`; its tuples are not part of the cut.",
    ),
    "CDISP0831E": error("A Custom cannot replay, so it cannot start a region.", "Start the region at its source."),
    "CDISP0832E": error("A loop inside a region contains a start operator.", "Break the loop or move the annotation."),
    "CDISP0833E": error("A loop lies inside a region: it could never drain.", "Break it, or use a control port."),
    "CDISP0834E": error(
        "A member of a region has outputs but only control ports as inputs.", "Make it autonomous, or a start operator."
    ),
    "CDISP0835E": error(
        "An operator-driven region would have to merge with another region.",
        "Keep the regions apart, or make both periodic.",
    ),
    "CDISP0836D": warning("Detail of CDISP0835E: the place of the other annotation.", "See CDISP0835E."),
    "CDISP0837E": error("An operator-driven region has several start operators.", "Annotate one operator only."),
    "CDISP0838E": error(
        "The start of an operator-driven region has several replicas in one region.",
        "Use width 1 or a periodic trigger.",
    ),
    "CDISP0839W": warning(
        "The start of an operator-driven region is parallel with a submission-time width.",
        "Give width 1 when submitting.",
    ),
    "CDISP0840E": error("A periodic region lacks its period.", "Add `period`, in seconds."),
    "CDISP0841E": error("An operator-driven region has a period.", "Remove the period or use `trigger: periodic`."),
    "CDISR1359E": error(
        "After the parallel expansion an operator-driven region has several starts.",
        "Use width 1 or a periodic trigger.",
    ),
    "CDISP9243E": error(
        "A parameter cannot be used in a consistent region.", "Remove it or make the operator autonomous."
    ),
    "CDISP9244E": error(
        "A FileSource with an input port cannot start a region.", "Start the region at the operator that feeds it."
    ),
    "CDISP9245E": error(
        "The operator cannot drain, checkpoint and reset, so a region must not contain it.",
        "Annotate the invocation with `autonomous: true`, or connect it with no stream of the region.",
    ),
    "CDISP9246E": error("writeStateHandlerCallbacks needs the csv format.", "Use csv or remove the parameter."),
    "CDISP9247E": error("truncateOnReset outside of a region has no effect.", "Remove the parameter."),
    "CDISP9248E": error("truncateOnReset cannot be combined with this closeMode.", "Use another closeMode."),
    "CDISP9250E": error("The operator cannot replay its tuples, so it cannot start a region.", "Annotate a source."),
    "CDISP9251W": warning("A Buffer outside of a region only delays.", "Remove the Buffer."),
    # A warning in spite of the generator, which stops here: applications that ship without triggerCount do run.
    "CDISP9253W": warning("A Beacon that triggers a region lacks triggerCount.", "Add triggerCount."),
    "CDISP9254W": error("A Beacon has triggerCount but triggers no region.", "Remove triggerCount."),
    "CDISP9255E": error("A DirectoryScan that moves files cannot be in a periodic region.", "Remove moveToDirectory."),
    "CDISP9257E": error("Parse with format block cannot be used in a region.", "Use another format."),
    # event time
    "CDISP0747W": warning("The parts of a window are out of order.", "Write the kind first, and `partitioned` last."),
    "CDISP0866E": error(
        "A length of time in a window of event time is an attribute.", "Write a number of seconds, such as 10.0."
    ),
    "CDISP0867E": error(
        "The resolution of an event-time attribute is unknown.",
        "Write Milliseconds, Microseconds or Nanoseconds, or leave it out.",
    ),
    "CDISP0868E": error(
        "Two event-time graphs with different attributes, types or resolutions reach one port.",
        "Give both annotations the same attribute, or annotate the operator where they meet.",
    ),
    "CDISP0870E": error(
        "A window of event time has parts of a tumbling or sliding window, or is of two kinds.", "Keep one kind."
    ),
    "CDISP0871E": error(
        "A timeInterval window is used where no event time arrives.",
        "Annotate an operator upstream of it with eventTime, and keep the attribute in all streams between them.",
    ),
    "CDISP0872E": error(
        "A timeInterval window is at a port whose tuples do not have the event-time attribute.",
        "Add the attribute to the tuple type of the port.",
    ),
    "CDISP0873E": error(
        "Output ports of an annotated operator have the event-time attribute with different types.",
        "Give it one type, or rename it on the other ports.",
    ),
    "CDISP0874E": error(
        "No output port of an annotated operator has the attribute that the annotation names.",
        "Correct the name, or add the attribute to an output.",
    ),
    "CDISP0875E": error(
        "The type of the event-time attribute is not a time.",
        "Use a timestamp, a timestamp_ntz, a timestamp_ns or a bigint.",
    ),
    "CDISP0876E": error("eventTime annotates a composite.", "Annotate the primitive operators inside of it."),
    "CDISP0877E": error(
        "A timestamp as event-time attribute has another resolution than Nanoseconds.", "Leave the resolution out."
    ),
    "CDISP0878E": error(
        "A window of event time lacks a part that it must have, or has it twice.", "Write the part exactly once."
    ),
    "CDISP0879E": error("A window of event time has a part twice.", "Keep one of the two."),
    "CDISP0880E": error(
        "A window has a part that only another kind of event-time window can have.",
        "Remove the part, or change the kind of the window.",
    ),
    "CDISP0881E": error(
        "A length of time in a window of event time is not a literal number.",
        "Write a number of seconds, such as 10.0.",
    ),
    "CDISP0882E": error(
        "The event-time attribute is not written as the name of an attribute.",
        "Write a name, or a.b for the field b of a.",
    ),
    # fusion at submission
    "CDISR3035W": warning(
        "The placement configs do not allow the requested number of PEs.",
        "Remove some of the configs, or request another number of PEs.",
    ),
}
