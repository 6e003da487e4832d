// Where a message to a person stands: sent, sent and no longer true, to come, or failed.

export const MESSAGE_STATES = ['sent', 'correction_owed', 'not_sent', 'failed'] as const
export type MessageState = (typeof MESSAGE_STATES)[number]

/** In the words of people; a message that was sent says what became of it. */
export function messageStateText(line: {
  readonly state: MessageState
  readonly correctsTime: unknown
  readonly correctedAt: unknown
}): string {
  if (line.state === 'correction_owed') return 'correction owed'
  if (line.state === 'not_sent') return 'not sent'
  if (line.state === 'failed')
    return line.correctsTime === null ? 'failed' : 'failed to correct the date'
  if (line.correctedAt !== null) return 'sent, corrected since'
  return line.correctsTime === null ? 'sent' : 'sent, a correction'
}
