// A time as a person typed it on the command line, in the zone that the command uses: `--zone`, else the viewer's own.
import { readTypedTime } from '../../domain/sources/typed-time.ts'
import {
  type CommandContext,
  type Flags,
  textFlag,
  usageError,
} from '../program/command-context.ts'

/** As the API takes it. `base` is what `+2h` counts from; now by default. */
export function readTime({ io }: Pick<CommandContext, 'io'>, text: string, base?: Date): string {
  const now = io.now()
  const read = readTypedTime(text, { base: base ?? now, now, timeZone: io.zone })
  if ('at' in read) return read.at.toISOString()
  throw usageError(read.reason)
}

export function timeFlag(context: CommandContext, flags: Flags, name: string): string | undefined {
  const text = textFlag(flags, name)
  return text === undefined ? undefined : readTime(context, text)
}
