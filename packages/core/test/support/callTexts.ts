/** Texts of calls for the model and the user. */

import {
  check,
  declared,
  doubtful,
  escalated,
  failures,
  lost,
  of,
  onward,
  repeatable,
  type Row,
  slow,
  unclear,
  went
} from "./toolFailures.ts"

export const ofCalls: ReadonlyArray<Row> = [
  [
    of("toolNotFound", "fly".repeat(50), ["walk"]),
    "tool_not_found",
    `There is no tool "${"fly".repeat(21)}f…".`,
    went,
    false,
    { available_tools: ["walk"], instruction: "Use one of the available tools." }
  ],
  [of("notRun", false), "not_run", "Not run: the run ended before.", "This was not done.", true],
  [
    of("notRun", true),
    "not_run",
    "Not finished: the run ended while the tool was running.",
    "This was not done.",
    false
  ],
  [
    of("denied"),
    "permission_denied",
    "This call is not allowed.",
    "This is not allowed.",
    false,
    { instruction: "Do not make this call again. Continue without it." }
  ],
  ...[false, true].flatMap((undoes): ReadonlyArray<Row> => {
    const undoing = "Earlier writes of this run are compensated when you have answered: say so."
    return [
      [
        failures["rejected"]!("too dear", "run-1", undefined, undoes),
        "permission_denied",
        "A person rejected this call: too dear",
        "This is not allowed.",
        false,
        { instruction: undoes ? undoing : "Do not make this call again. Continue without it." }
      ],
      [
        failures["rejectedInPart"]!("too dear", "run-1", undefined, undoes),
        "outcome_unknown",
        "A part of this call was done. A person rejected another: too dear",
        doubtful,
        false,
        { instruction: undoes ? undoing : check }
      ]
    ]
  }),
  [
    of("rejected", "too dear"),
    "permission_denied",
    "A person rejected this call: too dear",
    "This is not allowed.",
    false,
    { instruction: "Do not make this call again. Continue without it." }
  ],
  [
    of("rejectedInPart", "too dear"),
    "outcome_unknown",
    "A part of this call was done. A person rejected another: too dear",
    doubtful,
    false,
    { instruction: check }
  ],
  [
    of("blocked", "ref-1"),
    "unsafe_output",
    "The output of the tool was blocked as unsafe. Reference: ref-1",
    "Unsafe content was blocked.",
    false,
    { instruction: onward }
  ],
  [
    of("waiting"),
    "approval_required",
    "This call was not made: it waits for an approval.",
    "This needs your approval.",
    false
  ],
  [
    of("doneInPart"),
    "outcome_unknown",
    "A part of this call was done. Another part has no approval.",
    doubtful,
    false,
    { instruction: check }
  ],
  [
    of("sameResult", 3),
    "repeated_call",
    "This call was not made: it gave the same result 3 times, and no call since then has given anything new.",
    went,
    false,
    {
      instruction: "Use the result that is already here, change the arguments, use another tool, or answer without it."
    }
  ],
  [
    of("repeatedCall", 3, "timeout"),
    "repeated_call",
    "This call failed 3 times with the same arguments and the same error (timeout).",
    went,
    false,
    { instruction: "Do not make this call again. Change the arguments, use another tool, or answer without it." }
  ],
  // A call that failed and may have been done all the same. Its own word stays, and not the sentence of its error.
  [of("unknownOutcome", slow, false, true), "outcome_unknown", lost, doubtful, false, { instruction: check }],
  [of("unknownOutcome", unclear, true, true), "outcome_unknown", lost, doubtful, false, { instruction: check }],
  [of("unknownOutcome", unclear, false, false), "outcome_unknown", lost, doubtful, false, { instruction: check }],
  ...[unclear, slow].map((error): Row => [
    of("unknownOutcome", error, true, false),
    "outcome_unknown",
    lost,
    doubtful,
    true,
    { instruction: repeatable }
  ]),
  ...[escalated("desk"), escalated("desk", slow)].map((error): Row => [
    of("unknownOutcome", error, false, true),
    "outcome_unknown",
    "Ask the desk",
    doubtful,
    false,
    { severity: "high", instruction: check }
  ]),
  [
    of("unknownOutcome", escalated("desk", declared({ model: "Ask the desk" })), false, true),
    "outcome_unknown",
    lost,
    doubtful,
    false,
    { instruction: check }
  ]
]
