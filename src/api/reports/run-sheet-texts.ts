// What the run sheet tells people to type, and to do without matoolkit.
import { commandLine } from '../../base/text/command-line.ts'

/** `gated` is a phase whose gate has not passed. */
export const nightCommands = (
  batchId: number,
  gated: string | null,
  hasWindows: boolean,
): (readonly [what: string, command: string])[] => [
  ['follow it', commandLine`batch watch ${batchId}`],
  ['know whether action is needed', commandLine`status`],
  ['stop everything: nothing new is sent, running jobs finish', commandLine`hold --all`],
  ['continue after that', commandLine`resume --all --reason "…"`],
  ['hold this batch', commandLine`hold --batch ${batchId} --reason "…"`],
  ['resume it', commandLine`resume --batch ${batchId} --reason "…"`],
  ['hold one person', commandLine`hold --member ${batchId} PERSON --reason "…"`],
  ['see what failed, and what to do', commandLine`failures ${batchId}`],
  ['try failed people again', commandLine`batch retry ${batchId} --all --reason "…"`],
  ['see what a person waits for', commandLine`member show ${batchId} PERSON`],
  ...(gated === null
    ? []
    : ([
        ['approve a gate', commandLine`batch approve ${batchId} ${gated} --reason "…"`],
        [
          'start with fewer people ready',
          commandLine`batch approve ${batchId} ${gated} --waive --until +2h --reason "…"`,
        ],
      ] as const)),
  ...(hasWindows
    ? ([
        [
          'send outside the change windows',
          commandLine`batch override-window ${batchId} --until +2h --reason "…"`,
        ],
      ] as const)
    : []),
  ['move T-0, before it has come', commandLine`batch reschedule ${batchId} +2h --reason "…"`],
  ['take one person back', commandLine`batch undo ${batchId} PERSON --reason "…"`],
  ['take the wave back: hold it first', commandLine`batch undo ${batchId} --all --reason "…"`],
  ['end the batch for good', commandLine`batch cancel ${batchId} --reason "…"`],
  [
    'tell it what was done by hand',
    commandLine`batch skip ${batchId} --members PERSON --step STEP --done --reason "…"`,
  ],
]

export const UNREACHABLE: readonly string[] = [
  'You cannot reach the API, but its processes run: everything continues. Phases start at their times. Closed gates, the failure limit and closed change windows still stop the batch on their own.',
  'To hold it then: type the command on a machine that reaches the API, such as the one it runs on. Or stop the orchestrator (SIGTERM, or scale it to 0): no new job is sent. Workers finish the jobs that they have, and their results wait.',
  'To stop calls to one tenant: stop its worker. Jobs that it runs are finished or given back, and run when it is there again.',
  'Stop processes with SIGTERM and give them time. A kill harms nothing either, but work that was under way waits for a minute and may run twice.',
  'Started again, everything continues where it stopped. Phases whose time has come meanwhile start then: check the times above before you start the orchestrator.',
  'Workers cannot reach Microsoft: steps are tried again as listed above, then the person fails. Nothing is lost; retry those people afterwards.',
  'Do a step by hand only for a person whose box is empty, and only while the batch is on hold or its processes are stopped. Write it down below, and mark the step as done before you resume.',
]
