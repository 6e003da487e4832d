// Where a message to a person stands: sent, sent and no longer true, to come, or failed.

export const TOLD_STATES = ['told', 'correction_owed', 'not_told', 'failed'] as const
export type ToldState = (typeof TOLD_STATES)[number]

/** In the words of people; a message that was sent says what became of it. */
export function toldStateText(line: {
  readonly state: ToldState
  readonly correctsTime: unknown
  readonly correctedAt: unknown
}): string {
  if (line.state === 'correction_owed') return 'correction owed'
  if (line.state === 'not_told') return 'not told'
  if (line.state === 'failed')
    return line.correctsTime === null ? 'failed' : 'failed to correct the date'
  if (line.correctedAt !== null) return 'told, corrected since'
  return line.correctsTime === null ? 'told' : 'told, a correction'
}
