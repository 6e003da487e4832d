// The log of a process that serves: lines through its Io, for people on a terminal and as JSON elsewhere.

import type { Io } from '../cli/terminal/io.ts'
import type { RealClock } from '../clock.ts'
import type { Config } from '../config.ts'
import { createLog, type Log } from '../log.ts'

export const logTo =
  (write: Io['out'], { width }: Io, { logLevel: level, logFormat: format }: Config) =>
  (clock: RealClock): Log =>
    createLog({
      level,
      format,
      clock,
      destination: { isTTY: width !== null, write: (line) => write(line.trimEnd()) },
    })
