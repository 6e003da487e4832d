// What the run sheet tells people to type, and to do without matoolkit.

/** `gated` is a phase whose gate has not passed. */
export const nightCommands = (
  batchId: number,
  gated: string | null,
  hasWindows: boolean,
): (readonly [what: string, command: string])[] => [
  ['follow it', `matoolkit batch watch ${batchId}`],
  ['know whether somebody is needed', 'matoolkit status'],
  ['stop everything: nothing new is sent, running jobs finish', 'matoolkit hold --all'],
  ['continue after that', 'matoolkit resume --all --reason "…"'],
  ['hold this batch', `matoolkit batch hold ${batchId} --reason "…"`],
  ['resume it', `matoolkit batch resume ${batchId} --reason "…"`],
  ['hold one person', `matoolkit member hold ${batchId} PERSON --reason "…"`],
  ['see what failed, and what to do', `matoolkit failures ${batchId}`],
  ['try failed people again', `matoolkit batch retry ${batchId} --all --reason "…"`],
  ['see what a person waits for', `matoolkit member show ${batchId} PERSON`],
  ...(gated === null
    ? []
    : ([
        ['approve a gate', `matoolkit batch approve ${batchId} ${gated} --reason "…"`],
        [
          'start with fewer people ready',
          `matoolkit batch waive ${batchId} ${gated} --until +2h --reason "…"`,
        ],
      ] as const)),
  ...(hasWindows
    ? ([
        [
          'send outside the change windows',
          `matoolkit batch override-window ${batchId} --until +2h --reason "…"`,
        ],
      ] as const)
    : []),
  ['move T-0, before it has come', `matoolkit batch reschedule ${batchId} +2h --reason "…"`],
  ['take one person back', `matoolkit member undo ${batchId} PERSON --reason "…"`],
  ['take the wave back: hold it first', `matoolkit batch undo ${batchId} --all --reason "…"`],
  ['end the batch for good', `matoolkit batch cancel ${batchId} --reason "…"`],
  [
    'tell it what was done by hand',
    `matoolkit batch mark-done ${batchId} --members PERSON --step STEP --reason "…"`,
  ],
]

export const UNREACHABLE: readonly string[] = [
  'You cannot reach the API, but its processes run: everything continues. Phases start at their times. Closed gates, the failure limit and closed change windows still stop the batch by themselves.',
  'To hold it then: type the command on a machine that reaches the API, such as the one it runs on. Or stop the orchestrator (SIGTERM, or scale it to 0): no new job is sent. Workers finish the jobs that they have, and their results wait.',
  'To stop calls to one tenant: stop its worker. Jobs that it runs are finished or given back, and run when it is there again.',
  'Stop processes with SIGTERM and give them time. A kill harms nothing either, but work that was under way waits for a minute and may run twice.',
  'Started again, everything continues where it stopped. Phases whose time has come meanwhile start then: check the times above before you start the orchestrator.',
  'Workers cannot reach Microsoft: steps are tried again as listed above, then the person fails. Nothing is lost; retry those people afterwards.',
  'Do a step by hand only for a person whose box is empty, and only while the batch is on hold or its processes are stopped. Write it down below, and mark the step as done before you resume.',
]
