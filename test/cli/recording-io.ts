// An Io that records the output, marks colours, and answers questions from a list.

import type { Io } from '../../src/cli/terminal/io.ts'
import { M365_CATALOGUE } from '../../src/m365/catalogue.ts'
import { M365_STARTER } from '../../src/m365/starter.ts'

export interface RecordingIo extends Io {
  outText(): string
  errText(): string
  /** The questions so far. */
  readonly asked: string[]
}

export interface RecordingOptions {
  readonly colour?: boolean
  readonly width?: number | null
  /** One answer per question; without it there is no person. */
  readonly answers?: readonly string[]
  /** Runs when a question is asked, before its answer. */
  readonly onAsk?: () => Promise<void>
  /** The viewer's zone and time; UTC on a day of its own, so that every time shows its date. */
  readonly zone?: string
  readonly now?: Date
}

export function recordingIo({
  colour = false,
  width = null,
  answers,
  onAsk,
  zone = 'UTC',
  now = new Date('2025-01-01T00:00:00Z'),
}: RecordingOptions = {}): RecordingIo {
  let out = ''
  let err = ''
  const left = [...(answers ?? [])]
  const asked: string[] = []
  return {
    out: (text) => {
      out += `${text}\n`
    },
    err: (text) => {
      err += `${text}\n`
    },
    paint: (style, text) => (colour ? `<${style}>${text}</${style}>` : text),
    width,
    progress: () => {},
    canAsk: answers !== undefined,
    packagedFunctions: async () => M365_CATALOGUE,
    runbookStarter: async () => M365_STARTER,
    ask: async (question) => {
      asked.push(question)
      await onAsk?.()
      return left.shift() ?? ''
    },
    zone,
    now: () => now,
    exitCode: 0,
    asked,
    outText: () => out,
    errText: () => err,
  }
}
