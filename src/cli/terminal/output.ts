// Which format a command answers in: what `--output` says, else MATOOLKIT_OUTPUT, else the profile, else a table where a person
// looks at it and JSON where a program reads. docs/cli.md says which answers are texts that this does not concern.

import { loadProfile, type Profile } from '../profile.ts'
import type { Io } from './io.ts'
import { makeShow, type OutputFormat, type Show } from './show.ts'

export const showFor = (given: OutputFormat | undefined, { output }: Profile, io: Io): Show =>
  makeShow(
    given ?? (output.value as OutputFormat | null) ?? (io.width === null ? 'json' : 'table'),
    io,
  )

/** For commands that talk to no API, and have a profile for this alone. */
export const openShow = (given: OutputFormat | undefined, io: Io): Show =>
  given === undefined ? showFor(given, loadProfile({}), io) : makeShow(given, io)
