// An Io that keeps what a command said, marks colours so that tests can see them, and answers questions from a list.
import type { Io } from '../../src/cli/terminal/io.ts'

export interface RecordingIo extends Io {
  outText(): string
  errText(): string
  /** Every question that was asked. */
  readonly asked: string[]
}

export interface RecordingOptions {
  readonly colour?: boolean
  readonly width?: number | null
  /** What a person would type, one answer a question; without it nobody can be asked. */
  readonly answers?: readonly string[]
}

export function recordingIo({
  colour = false,
  width = null,
  answers,
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
    ask: async (question) => {
      asked.push(question)
      return left.shift() ?? ''
    },
    exitCode: 0,
    asked,
    outText: () => out,
    errText: () => err,
  }
}
