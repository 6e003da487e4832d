// The kinds of what needs a person, from the greatest harm to people to the least. Everything that answers "who is needed?" reads this
// table: status, wall, batch page, `stuck`, exit codes, notifications, metrics.

/** urgent: harm happens now or within the hour. planned: as someone ordered, and no action is needed. */
export const SEVERITIES = ['urgent', 'soon', 'later', 'planned'] as const
export type Severity = (typeof SEVERITIES)[number]

interface Kind {
  /** For people who choose what a channel is told. */
  readonly about: string
  /** At its worst: a gate is less before its last hour, and a hold that a person set is planned. */
  readonly severity: Severity
  /** On a badge. */
  readonly word: string
  /** One of what is counted. */
  readonly noun: string
  /** It may be accepted as it is; then nobody is needed until it changes. */
  readonly mayBeAccepted?: true
  /** False: no channel hears of it. */
  readonly isTold: boolean
  /** Where the dashboard leads; `:batchId` and `:workerId` are filled in. */
  readonly page: string
  /** What the page's link says. */
  readonly link: string
}

export const KINDS = {
  everything_held: {
    about: 'Everything is held.',
    severity: 'urgent',
    word: 'Held',
    noun: 'hold',
    isTold: true,
    page: '/holds',
    link: 'See the holds',
  },
  worker_silent: {
    about: 'Work waits for a worker that has not been seen for a minute, or never.',
    severity: 'urgent',
    word: 'Silent',
    noun: 'waiting step',
    isTold: true,
    page: '/workers/:workerId',
    link: 'See the worker',
  },
  gate_waiting: {
    about: 'A phase is due within a day, or waits, and its gate lacks something.',
    severity: 'urgent',
    word: 'Gate',
    noun: 'closed gate',
    isTold: true,
    page: '/batches/:batchId',
    link: 'See the gate',
  },
  failure_limit: {
    about: 'More people failed than `safeguards` or a ramp allow, and the batch is held.',
    severity: 'urgent',
    word: 'Held',
    noun: 'hold',
    isTold: true,
    page: '/batches/:batchId',
    link: 'See the batch',
  },
  batch_held: {
    about: 'A batch, a runbook or a worker is held.',
    severity: 'urgent',
    word: 'Held',
    noun: 'hold',
    isTold: true,
    page: '/holds',
    link: 'See the holds',
  },
  people_failed: {
    about: 'People of a batch failed, or its init steps.',
    severity: 'urgent',
    word: 'Failed',
    noun: 'failure',
    mayBeAccepted: true,
    isTold: true,
    page: '/failures?batchId=:batchId',
    link: 'See the failures',
  },
  phase_late: {
    about: 'A phase has not begun a minute after its time.',
    severity: 'urgent',
    word: 'Late',
    noun: 'late phase',
    isTold: true,
    page: '/batches/:batchId',
    link: 'See the batch',
  },
  stuck: {
    about: 'Results, retries or polls of a batch are overdue.',
    severity: 'urgent',
    word: 'Stuck',
    noun: 'overdue step',
    isTold: true,
    page: '/batches/:batchId',
    link: 'See the batch',
  },
  forecast_miss: {
    about: 'A phase is forecast to end too late for T-0, or for the phase after it.',
    severity: 'urgent',
    word: 'Late',
    noun: 'late forecast',
    isTold: true,
    page: '/batches/:batchId',
    link: 'See the batch',
  },
  review_waiting: {
    about: 'A change of the source waits for a decision.',
    severity: 'soon',
    word: 'Decide',
    noun: 'review',
    isTold: true,
    page: '/sources',
    link: 'Decide',
  },
  source_failing: {
    about: 'The last query of a data source failed.',
    severity: 'soon',
    word: 'Source',
    noun: 'failing source',
    isTold: true,
    page: '/sources',
    link: 'See the source',
  },
  dead_letters: {
    about: 'Messages could not be handled.',
    severity: 'soon',
    word: 'Messages',
    noun: 'dead letter',
    mayBeAccepted: true,
    isTold: true,
    page: '/dead-letters',
    link: 'See the messages',
  },
  channel_failing: {
    about: 'A channel does not take messages.',
    severity: 'later',
    word: 'Channel',
    noun: 'failing channel',
    // The channel that would tell it does not work.
    mayBeAccepted: true,
    isTold: false,
    page: '/notifications',
    link: 'See the channel',
  },
  rows_left_out: {
    about: 'The last query of a data source left out rows.',
    severity: 'later',
    word: 'Rows',
    noun: 'left-out row',
    mayBeAccepted: true,
    isTold: false,
    page: '/sources',
    link: 'See the source',
  },
} as const satisfies Readonly<Record<string, Kind>>

export type NeedKind = keyof typeof KINDS
export const NEED_KINDS = Object.keys(KINDS) as NeedKind[]

export const kindRow = (kind: NeedKind): Kind => KINDS[kind]
