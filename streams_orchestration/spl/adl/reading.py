"""Reading of ADL files: the parts that both generations of the format have in common, and the choice between them."""

from __future__ import annotations

import posixpath

from streams_orchestration.spl.adl.elements import XmlElement
from streams_orchestration.spl.adl.errors import AdlError
from streams_orchestration.spl.adl.graph import AdlSplitter, CompiledApplication, Pool, Region, SubmissionTimeValue
from streams_orchestration.spl.adl.newer import main_of_newer
from streams_orchestration.spl.adl.older import main_of_older, pes_of
from streams_orchestration.spl.adl.parts import numbers

_NEWER = "http://www.ibm.com/xmlns/prod/streams/application/v4200"
_OLDER = (
    "http://www.ibm.com/xmlns/prod/streams/application",
    "http://www.ibm.com/xmlns/prod/streams/application/v4000",
)
_DEFAULT_POOL = "$default"


def compiled_application(root: XmlElement) -> CompiledApplication:
    """Return the application in an ADL.

    Raises:
        AdlError: the file is not an ADL file of IBM Streams 3 to 6, holds several applications, or is damaged.
    """
    if root.name != "applicationSet" or root.namespace not in (_NEWER, *_OLDER):
        message = "it is not an ADL document of IBM Streams 3 to 6: an <applicationSet> is expected"
        raise AdlError(message, root.line)
    newer = root.namespace == _NEWER
    applications = list(root.all("splApplication" if newer else "application"))
    if len(applications) != 1:
        message = f"an ADL document holds one application, but this one holds {len(applications)}"
        raise AdlError(message, root.line)
    [application] = applications
    return CompiledApplication(
        name=application.required("name"),
        main=main_of_newer(application) if newer else main_of_older(application),
        pools=tuple(
            Pool(each.required("name"), tuple(tag.required("name") for tag in each.all("tag")), _size(each))
            for each in application.all("hostpools", "hostpool")
            if each.required("name") != _DEFAULT_POOL
        ),
        regions=tuple(map(_region, application.all("parallelRegions", "parallelRegion"))),
        submission={
            each.number("index"): SubmissionTimeValue(
                each.required("name"), each.attributes.get("compositeName", ""), each.attributes.get("defaultValue")
            )
            for each in application.all("submissionTimeValues", "submissionTimeValue")
        },
        sources=tuple(
            dict.fromkeys(
                posixpath.basename(each.required("path")) for each in application.all("composites", "sourceUris", "uri")
            )
        ),
        pes=() if newer else pes_of(application),
    )


def _size(pool: XmlElement) -> int | None:
    return pool.number("size") if "size" in pool.attributes else None


def _region(region: XmlElement) -> Region:
    operator = region.first("parallelOperator")
    width = region.first("parallelWidth")
    if operator is None or width is None:
        message = "a parallel region has a <parallelOperator> and a <parallelWidth>"
        raise AdlError(message, region.line)
    constant = numbers(width.all("constantWidth"))
    submission = numbers(width.all("submissionTimeParameterIndexForWidth"))
    if not constant and not submission:
        message = "the width of a parallel region is a constant or a submission-time value"
        raise AdlError(message, width.line)
    return Region(
        operator.number("operIndex"),
        region.line,
        constant[0] if constant else None,
        submission[0] if submission else None,
        tuple(
            AdlSplitter(
                each.number("iportIndex"),
                each.required("kind"),
                tuple(attribute.required("name") for attribute in each.all("attributes", "attribute")),
            )
            for each in operator.all("splitter")
        ),
        tuple(tag.required("name") for tag in region.all("replicateHostTag")),
    )
