// The outputs of a step that was done by hand, as typed.
import { type Flags, textFlag, usageError } from '../../program/command-context.ts'

/** `--outputs name=value,…`: the outputs of a step that was done by hand. */
export function outputsFrom(flags: Flags): Record<string, string> {
  const text = textFlag(flags, 'outputs')
  if (text === undefined) return {}
  const pairs = text.split(',').map((pair) => /^([^=]+)=(.*)$/s.exec(pair))
  if (pairs.includes(null)) {
    throw usageError(
      `--outputs is "${text}", but must be a list such as UserId=4711,Mail=ada@contoso.com.`,
    )
  }
  return Object.fromEntries(pairs.map((pair) => [pair![1]!, pair![2]!]))
}
