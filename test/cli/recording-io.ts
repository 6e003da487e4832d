// An Io that keeps what a command said, and marks colours so that tests can see them.
import type { Io } from '../../src/cli/io.ts'

export interface RecordingIo extends Io {
  outText(): string
  errText(): string
}

export function recordingIo({ colour = false } = {}): RecordingIo {
  let out = ''
  let err = ''
  return {
    out: (text) => {
      out += `${text}\n`
    },
    err: (text) => {
      err += `${text}\n`
    },
    paint: (style, text) => (colour ? `<${style}>${text}</${style}>` : text),
    exitCode: 0,
    outText: () => out,
    errText: () => err,
  }
}
