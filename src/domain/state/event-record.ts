// One row of the events table, and its only constructor: what happened to which entity, and why, as a sentence for people.

import type { Json } from '../../base/text/json.ts'
import type { Step } from './facts.ts'
import type { Entity } from './transitions.ts'

export interface EventRecord {
  readonly entity: Entity | 'worker' | 'runbook' | 'system'
  readonly event: string
  readonly from: string | null
  readonly to: string | null
  readonly memberId: number | null
  readonly phaseId: number | null
  readonly stepId: number | null
  readonly attempt: number | null
  readonly jobId: string | null
  readonly because: string
  readonly details: Json
}

/** What an event is about. A step stands for its member, phase, attempt and job too. */
export interface EventSubject {
  readonly step?: Step
  readonly memberId?: number
  readonly phaseId?: number
  readonly jobId?: string
  readonly details?: Json
}

export function eventRecord(
  entity: EventRecord['entity'],
  event: string,
  because: string,
  subject: EventSubject = {},
  from: string | null = null,
  to: string | null = null,
): EventRecord {
  const { step } = subject
  return {
    entity,
    event,
    from,
    to,
    memberId: step?.memberId ?? subject.memberId ?? null,
    phaseId: step?.phaseId ?? subject.phaseId ?? null,
    stepId: step?.id ?? null,
    attempt: step?.attempt ?? null,
    jobId: subject.jobId ?? step?.jobId ?? null,
    because,
    details: subject.details ?? null,
  }
}
