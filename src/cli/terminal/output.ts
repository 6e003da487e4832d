// The output format: `--output`, else MATOOLKIT_OUTPUT, else the profile, else a table on a terminal and JSON elsewhere.

import { loadProfile, type Profile } from '../connection/profile.ts'
import type { Io } from './io.ts'
import { makeShow, type OutputFormat, type Show } from './show.ts'

export const showFor = (given: OutputFormat | undefined, { output }: Profile, io: Io): Show =>
  makeShow(
    given ?? (output.value as OutputFormat | null) ?? (io.width === null ? 'json' : 'table'),
    io,
  )

/** For commands without an API: they load the profile for the format only. */
export const openShow = (given: OutputFormat | undefined, io: Io): Show =>
  given === undefined ? showFor(given, loadProfile({}), io) : makeShow(given, io)
