"""Codes of errors in SPL programs: message ids of IBM Streams, and our own codes where IBM Streams has none."""

from __future__ import annotations

from streams_orchestration.model.codes import Code, error, warning

_TYPE = "Cast one of them, or change the type of a variable or attribute."
_NAME = "Correct the spelling, or define it; `use NAMESPACE::*;` brings in the names of another namespace."

SPL_CODES: dict[str, Code] = {
    # writing
    "CDISP0008E": error("A keyword, name or punctuation mark is missing.", "Add it before the token that was found."),
    "CDISP0009E": error("This is not SPL syntax.", "Compare with the syntax of the clause or statement."),
    "CDISP0011E": error(
        "Another keyword, name or punctuation mark is expected here.", "Write the one that was expected."
    ),
    "CDISP0012E": error(
        "A keyword of SPL is used where a name or another keyword is expected.",
        "Choose a name that is not a keyword, or move the clause that the keyword begins.",
    ),
    "CDISP0029E": error(
        "A clause has two entries of the same name.", "Combine the values in one entry, or remove one of the two."
    ),
    "CDISP0402E": error("The name of a composite's parameter does not begin with $.", "Begin it with $."),
    "CDISP0412E": error("A name begins with $, but is not a parameter of a composite.", "Remove the $."),
    "CDISP0704E": error("An invocation has an annotation twice.", "Keep one of the two."),
    "CDISP9264E": error("A part of an annotation is not an assignment.", "Write key = value."),
    "SO0701": error(
        "The text is not SPL: a string is not closed, a character is not allowed, or the nesting is too deep.",
        "Close the string, write the character only in strings and comments, or divide the nested expression.",
    ),
    # names
    "CDISP0018E": error(
        "Several input ports have an attribute of this name.", "Write the port in front: Port.attribute."
    ),
    "CDISP0024E": error("Two `use` directives of a file name the same thing.", "Remove one of them."),
    "CDISP0025E": error(
        "A name is declared twice: in one block or file, as a stream, or as the alias of a port.",
        "Give one of the two another name.",
    ),
    "CDISP0050E": error("A name that is not a type is used as one.", "Write a type, or the name of one."),
    "CDISP0051E": error("A tuple has no attribute of this name.", "Correct the spelling, or add it to the type."),
    "CDISP0052E": error("There is no function of this name.", _NAME),
    "CDISP0053E": error("A name is not defined.", _NAME),
    "CDISP0302E": error(
        "A name that has no value is used as a value.", "Write a variable, an attribute, or a literal."
    ),
    "CDISP0690E": error(
        "Two attributes of a tuple type, or two values of an enumeration, have the same name.",
        "Give one of the two another name.",
    ),
    "CDISP0743E": error("A state variable has the name of an attribute.", "Give the variable another name."),
    "CDISP0542E": error("The namespace is reserved for the language.", "Choose another namespace."),
    "CDISP0760W": warning(
        "A `use` names a namespace that no toolkit has.", "Add the toolkit with `--toolkit`, or remove the line."
    ),
    # types
    "CDISP0030E": error("A parameter has too many or too few values.", "Give as many as it takes."),
    "CDISP0037E": error(
        "A value has no elements, or its index has the wrong type.",
        "Index lists and strings by integers, and maps by their keys.",
    ),
    "CDISP0038E": error(
        "The value cannot be sliced, or a bound is not an integer.", "Slice lists and strings, by integers."
    ),
    "CDISP0041E": error(
        "A value of this type cannot be cast to the other type.",
        "Convert the parts one by one, or cast to a string first.",
    ),
    "CDISP0044E": error("The two values of `? :` have different types.", _TYPE),
    "CDISP0045E": error("A condition is not boolean.", "Compare the value with another."),
    "CDISP0046E": error("The types of two operands do not match; SPL does not convert numbers implicitly.", _TYPE),
    "CDISP0047E": error(
        "The value does not have the type of the variable, or the elements do not have the type of "
        "the loop's variable.",
        _TYPE,
    ),
    "CDISP0049E": error("An operator does not take the type of its operand.", "Cast the operand, or remove the sign."),
    "CDISP0398E": error("A function returns a value of another type than it declares.", _TYPE),
    "CDISP0490E": error(
        "The bound of a type is not a constant of at least 1.", "Write a number, such as list<int32>[8]."
    ),
    "CDISP0143E": error(
        "A constant cannot be computed, for example because of a division by 0.", "Correct the constant."
    ),
    "CDISP0503E": error(
        "A number is beyond the range of its type, or its suffix does not exist.",
        "Use the suffix of a wider type: 5l is an int64, 5ul a uint64, 1.0w a float32.",
    ),
    "CDISP0504E": error("No function of this name takes these types.", "Cast the arguments to the types it takes."),
    "CDISP0651E": error("Both operands are null.", "Put a value on one side."),
    "CDISP0657E": error("An operand of a shift is not an integer.", "Cast both operands to integers."),
    "CDISP0658E": error("An operator does not take the type of its operands.", "Use another operator, or cast them."),
    "CDISP0863E": error("null is used where no optional type is known.", "Declare the type as optional, or cast null."),
    "CDISP9272E": error(
        "The tuple that is submitted has another type than the port, or there is no such port.",
        "Submit all attributes of the port's type in their order, or name another port.",
    ),
    "SO0722": error("`in` has a string on its right side, which Streams does not support.", "Use findFirst."),
    # invocations of operators
    "CDISP0048E": error("A parameter of an operator has the wrong type.", "Cast the value to the type that is needed."),
    "CDISP0054E": error("An operator has no parameter of this name.", "Correct the spelling, or remove it."),
    "CDISP0086E": error(
        "The alias of an input port is the name of a stream of the port.", "Remove the alias, or choose another name."
    ),
    "CDISP0088E": error(
        "A parameter's value is not one of its keywords.", "Write one of the keywords, without quotes."
    ),
    "CDISP0203E": error(
        "An operator is given the wrong number of input ports.", "Add or remove streams between semicolons."
    ),
    "CDISP0204E": error(
        "An operator is given the wrong number of output ports.",
        "Add or remove output streams in the head of the invocation.",
    ),
    "CDISP0224E": error(
        "An operator requires a window on an input port, or takes no window there.",
        "Add a `window` clause, or remove it.",
    ),
    "CDISP0206E": error(
        "An output attribute has no assignment, and no input attribute has its name and type.",
        "Assign it in `output`, or remove it from the type of the stream.",
    ),
    "CDISP0208E": error("A parameter is missing that the operator needs.", "Add it to `param`."),
    "CDISP0213E": error(
        "A parameter is not an attribute of an input port.", "Name an attribute, without an operation."
    ),
    "CDISP0216E": error("A parameter is not known when the application is compiled.", "Write a literal or constant."),
    "CDISP0360E": error(
        "A parameter reads attributes, which it cannot.", "Use literals, parameters or submission values."
    ),
    "CDISP0231E": error(
        "An operator has an `output` clause, but takes none.", "Remove it, or assign in a Functor after it."
    ),
    "CDISP0458E": error(
        "The invocation of a composite has a clause that only primitive operators may have.",
        "Put the clause into the composite.",
    ),
    "CDISP0185E": error("The name in a placement is not a text.", 'Write it in quotes: partitionColocation("a").'),
    "CDISP0186E": error("A placement names two hosts.", "Keep one of them."),
    "CDISP0184E": error(
        "There is no placement of this name.",
        "Write host, hostColocation, partitionIsolation, or another placement of Streams.",
    ),
    "CDISP0362E": error(
        "An `output` clause names a port that the operator does not have.",
        "Write the name of an output stream or its alias.",
    ),
    "CDISP0373E": error("A parameter of an operator is not a value.", "Write an expression with a value."),
    "CDISP0544E": error(
        "`output` assigns an attribute that the stream does not have.", "Correct the name, or add it to the type."
    ),
    "CDISP0545E": error("An output attribute is assigned twice.", "Remove one of the two assignments."),
    "CDISP0177E": error("A property of an Export has a type that properties do not have.", "Write a text, 5l, or 5.0."),
    "CDISP0173E": error(
        "A literal of a subscription has a type that properties do not have.", "Write a text, 5l, or 5.0."
    ),
    "CDISP0533E": error(
        "An output function is called within another expression.",
        "Assign the call alone, and compute with its value in a Functor after the operator.",
    ),
    "CDISP0238E": error(
        "The name or the default of a submission-time or compile-time value is not a constant.",
        "Write a literal, or an expression of literals and of parameters whose values are literals.",
    ),
    "CDISP0531E": error(
        "A submission-time value has two defaults in one composite.", "Write the same default at both places."
    ),
    "CDISP0728E": error(
        "onProcess is used in an operator with input ports, or in one that is not a Custom.",
        "Use onTuple, or a Custom without input ports.",
    ),
    "CDISP9068E": error("The number of output ports of a Join does not fit its algorithm.", "Correct one of the two."),
    "CDISP9071E": error(
        "The two sides have different numbers or types of keys.",
        "Give both sides the same number of keys, with equal types.",
    ),
    # variables and functions
    "CDISP0019E": error("`break` is used outside of a loop.", "Move it into a loop, or use `return`."),
    "CDISP0023E": error("`continue` is used outside of a loop.", "Move it into a loop, or use `return`."),
    "CDISP0393E": error("A constant has no value.", "Give it one, or declare it mutable."),
    "CDISP0378E": error("A constant is changed.", "Declare it mutable, or assign to a variable that is."),
    "CDISP0379E": error(
        "A constant is an argument that the function changes.", "Declare it mutable, or pass a variable that is."
    ),
    "CDISP0413E": error("A function without a type returns a value.", "Remove the value, or give the function a type."),
    "CDISP0431E": error("A character of a string is assigned.", "Build a new string of slices."),
    "CDISP0466E": error("A function calls a stateful one and is not stateful itself.", "Declare it stateful."),
    "CDISP0520E": error("A function with a type can end without return.", "Return a value at its end."),
    "CDISP0780E": error("A clause of logic returns a value.", "Write `return;`."),
    # composites and invocations
    "CDISP0017E": error("A name is defined in several namespaces.", "Write the namespace in front: ns::name."),
    "CDISP0076E": error(
        "An output clause assigns an attribute that the stream lacks.", "Correct it, or extend the type."
    ),
    "CDISP0394E": error(
        "A composite is given the wrong number of input streams.", "Give one for each of its input ports."
    ),
    "CDISP0395E": error(
        "The invocation of a composite names the wrong number of output streams.",
        "Name one for each of its output ports.",
    ),
    "CDISP0440E": error(
        "There is no main composite of this name.", "Correct the name after `--main`, with its namespace."
    ),
    "CDISP0457E": error("A stream has another type than its port.", "Give both the same type, or convert the tuples."),
    "CDISP0459E": error("A composite contains itself.", "Remove the invocation that closes the circle."),
    "CDISP0468E": error("A definition of another namespace is not public.", "Declare it public."),
    "CDISP0522E": error("A main composite has ports, or parameters without defaults.", "Choose or write another one."),
    "CDISP0800E": error("A name that is not an operator is used as one.", "Give the name of an operator."),
    # applications
    "SO0702": error(
        "An SPL file has no main composite, or several.",
        "Choose one with `--main ns::Name`, or with `main` in the companion file.",
    ),
    "SO0703": error(
        "A toolkit does not exist, or the directory of a file does not match the file's namespace.",
        "Correct the toolkit's directory, or move the file to a directory with the name of its namespace: a/b or a.b.",
    ),
    "SO0704": error(
        "An SPL file is in mixed mode: it has Perl code that generates SPL.",
        "Run the Perl code, and compile the SPL file that it generates.",
    ),
    "SO0705": error(
        "A parameter of a composite is missing.", "Give it in the `param` clause; it has no default in the composite."
    ),
    "SO0706": error(
        "The window clause is not valid, or the operator has no such window.",
        "Write a window of a kind and with policies that the operator supports.",
    ),
    "SO0707": error(
        "The application has too many invocations of composites; nested composites multiply them.",
        "Invoke fewer composites, or make a region parallel instead.",
    ),
    "SO0710": warning(
        "A native operator has no class in Python. The application compiles, but cannot be deployed.",
        "Write an operator in Python, and name its class in the companion file, `operators: {ns::Name: "
        "package.module:Class}`; or remove the invocation.",
    ),
    "SO0711": warning(
        "A native function has no Python function to call. The application compiles, but cannot be deployed.",
        "Write the function in Python, and name it in the companion file, `functions: {ns::name: {python: "
        "package.module:name}}`; or remove the call.",
    ),
    "SO0712": warning(
        "The operator model of a native operator was not found, so its ports and state are assumed.",
        "Add its toolkit with `--toolkit`; a toolkit of Java operators must be built first, which makes the models.",
    ),
    "SO0720": warning(
        "A stream has an attribute of a type that compiles but cannot run here.",
        "Leave the attribute out, or use another type.",
    ),
    "SO0721": warning(
        "Logic, a window or a delay in a consistent region uses the clock, random numbers or the relaunch count, which "
        "differ in a replay.",
        "Draw the values upstream of the region and pass them in an attribute; give a window a `timeAttribute`.",
    ),
    "SO0723": warning("An annotation or config of SPL has no effect here.", "Do nothing, or remove it."),
    "SO0724": error(
        "An operator has an SPL logic clause that cannot run here, or an expression that changes a variable of its "
        "logic, or that reads one before the first tuple.",
        "Compute what needs the variable in a Custom or Functor in front of the operator.",
    ),
    "SO0730": warning(
        "@catch has no effect here: an exception ends the PE, which is reset to its cut.",
        "Check in the logic for the conditions that raise exceptions.",
    ),
    "SO0733": error(
        "Logic in a consistent region uses files, waits, or shuts its PE down.",
        "Do that upstream or downstream of the region.",
    ),
    "SO0735": error(
        "A DeDuplicate or a region goes by SPL decimals, which are texts in streams.",
        "Cast the decimal to float64 in an operator upstream.",
    ),
    "SO0734": error(
        "An SPL function uses the runtime of Streams, or has no implementation here. It cannot run.",
        "Remove the call, or call a native function that the companion names.",
    ),
}
