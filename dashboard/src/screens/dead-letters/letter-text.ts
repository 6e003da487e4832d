// Dead letters in words.
import type { Answer } from '../../api/routes.ts'

type Letter = Answer<'GET /api/dead-letters'>['deadLetters'][number]

/** `worker result`, or the topic of a message without a type. */
export const kindText = ({ type, topic }: Pick<Letter, 'type' | 'topic'>): string =>
  (type ?? topic).replaceAll('-', ' ')

/** What a body says about its place; bodies are often dead because they are unreadable. */
export function placeIn(body: string): { batchId: number | null; stepId: number | null } {
  try {
    const { batchId, correlationData } = JSON.parse(body) as {
      batchId?: unknown
      correlationData?: { stepExecutionId?: unknown; isInitStep?: unknown } | null
    }
    const id = (value: unknown) => (Number.isSafeInteger(value) ? (value as number) : null)
    const isOfMember = correlationData?.isInitStep === false
    return { batchId: id(batchId), stepId: isOfMember ? id(correlationData.stepExecutionId) : null }
  } catch {
    return { batchId: null, stepId: null }
  }
}

export function prettyBody(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}
