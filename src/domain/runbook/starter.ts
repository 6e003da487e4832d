// What a starter runbook is made of. A package of functions writes its text.

export interface StarterFacts {
  readonly name: string
  /** Domains. */
  readonly from: string
  readonly to: string
  /** ISO 8601 in UTC. */
  readonly start: string
  /** Null: people get no notice. */
  readonly noticeFrom: string | null
}

export interface RunbookStarter {
  /** YAML, commented, valid and ready to rehearse. */
  runbook(facts: StarterFacts): string
  /** Its people as CSV. */
  members(facts: StarterFacts): string
}
