"""The order of the packages of the product, and of what is in them."""

from __future__ import annotations

LAYERS = (
    *("model", "expressions", "spl", "operators", "compiler", "runtime", "builder", "orchestration", "console", "cli"),
)
"""A package imports from itself and from those before it."""
OPERATOR_LAYERS = (
    *("loading", "errors", "references", "background", "storage"),
    *("tuples", "keys", "expressions", "event_time", "states", "windows"),
    *("contract", "inputs", "logic", "implementations", "clients", "sinks"),
    *("formats", "files", "databases", "messages", "journal", "kafka", "lakes", "serving", "brokers"),
    *("standard", "toolkits", "enrich", "tokenize", "testing"),
)
"""The same within the operators: code and files, values and states, the contract and its users, other systems, the
standard operators."""
COMPILER_LAYERS = (
    *("options", "option_types", "documents", "misleading", "disjoint_sets", "named_tuples", "walks"),
    "time_attributes",
    *("logical_graph", "physical_graph", "components", "stage_results", "fusion_fingerprint", "implementations"),
    *("column_uses", "query_columns", "column_sources", "column_influences", "pe_program", "deployment_plan"),
    *("reading", "compilation", "sections", "stage"),
    *(
        "logical",
        "parallel",
        "regions",
        "event_time",
        "profiles",
        "placement",
        "decoupling",
        "fusion",
        "threads",
        "copies",
    ),
    *("deployment", "stages", "compiling", "tour"),
    *("plan", "fingerprint", "checking", "drawing", "column_lineage", "redeployment", "explain"),
)
"""The same within the compiler: what all stages share, the stages, all of them, and what is done with the result."""
RUNTIME_LAYERS = (
    *("errors", "logs", "clocks", "processes", "settings"),
    *("storage", "catalog", "programs", "transport", "tasks", "sinks", "units", "trials", "lineage", "queries"),
    *("engine", "hosts", "machines", "deployment", "redeployment", "savepoints"),
    *("rollout", "observing", "api", "stepping"),
)
"""The same within the runtime: what all its packages share, the packages, what others use of it, and what tests use."""
SPL_LAYERS = {
    "spl": ("language", "types", "functions", "typing", "models", "programs", "toolkits", "application", "adl"),
    "spl.language": (
        *("walking", "tokens", "tree", "definitions", "recovery", "type_expressions", "expressions", "statements"),
        *("invocations", "parsing", "printing"),
    ),
    "spl.types": ("types", "joining", "casts", "literals", "text", "written", "columns"),
    "spl.functions": ("signatures", "overloads"),
    "spl.typing": (
        *("spans", "typed", "scopes", "naming", "conversions", "defaults", "folding", "operands", "calls", "literals"),
        *("operations", "checking", "statements", "canonical"),
    ),
    "spl.models": ("operators", "reading", "invocations", "assigned_outputs"),
    "spl.programs": (
        *("errors", "outcome", "values", "wrapping", "columns", "open_files", "library", "casting", "operations"),
        *("run", "python_values", "natives", "loops", "vectorised", "reading", "expression"),
        *("program", "logic", "markers"),
    ),
    "spl.programs.loops": (
        *("writer", "names", "arithmetic", "code_scope", "expressions", "places", "statements", "ports"),
    ),
    "spl.programs.library": (
        *(
            "registry",
            "patterns",
            "collection_types",
            "searches",
            "spl_string",
            "spl_numbers",
            "spl_collection",
            "spl_collection_keys",
            "spl_collection_search",
            "spl_math",
            "spl_math_lists",
            "spl_time",
            "strptime",
            "spl_calendar",
            "spl_decimals",
            "spl_files",
            "spl_links",
            "spl_utility",
            "json_texts",
            "json_values",
            "streamsx_json",
        ),
    ),
    "spl.toolkits": ("bundled", "standard", "units", "search"),
    "spl.application": (
        *(
            "natives",
            "companion",
            "adapting",
            "values",
            "window_texts",
            "windows",
            "located",
            "native_operators",
            "stream_names",
            "meeting",
            "parameter_kinds",
            "own_forms",
            "rewriting",
            "state_reading",
            "output_calls",
            "logic_texts",
            "found_operators",
            "names",
            "actuals",
            "bodies",
            "annotations",
            "operator_checks",
            "clause_checks",
            "format_rows",
            "deployment_checks",
            "file_checks",
            "fixed_arguments",
            "intrinsics",
            "subscriptions",
            "parameters",
            "submission",
        ),
        *("expansion", "document"),
    ),
    "spl.adl": (
        *(
            "errors",
            "elements",
            "bundles",
            "graph",
            "parts",
            "newer",
            "older",
            "reading",
            "placing",
            "submission",
            "document",
        ),
    ),
}
"""The same within SPL and its packages: reading from the smallest parts up, then types."""
STANDARD_LAYERS = (
    *("refused", "files", "conversion", "network", "systems"),
    *("aggregation", "sorting", "joining", "transformation", "flow"),
)
"""The same within the standard operators."""
INNER = {
    "operators.standard": STANDARD_LAYERS,
    "operators": OPERATOR_LAYERS,
    "compiler": COMPILER_LAYERS,
    "runtime": RUNTIME_LAYERS,
} | SPL_LAYERS
