// `matoolkit runbook init`: writes a commented starter runbook and its member file, from flags or, without a name on a terminal, from a
// few questions. Both are valid and can be rehearsed as they are.

import { messageOf } from '../../../base/errors/errors.ts'
import { printable } from '../../../base/text/printable.ts'
import { sameName } from '../../../base/text/same-name.ts'
import type { StarterFacts } from '../../../domain/runbook/starter.ts'
import { requireReplaceable, writeNewFile } from '../../input/files.ts'
import { readTime } from '../../input/typed-time.ts'
import { usageError } from '../../program/command-context.ts'
import type { Io } from '../../terminal/io.ts'
import { confirm } from '../../terminal/prompt.ts'

export interface InitFlags {
  readonly from?: string
  readonly to?: string
  readonly start?: string
  readonly noticeFrom?: string
  readonly force?: true
  readonly yes?: true
}

const NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/i
const DOMAIN = /^[a-z0-9-]+(\.[a-z0-9-]+)+$/i
const ADDRESS = /^[a-z0-9][a-z0-9._+-]*@[a-z0-9-]+(\.[a-z0-9-]+)+$/i
/** The first cut-over of the sample people, unless told otherwise. */
const LEAD_DAYS = 30
const TRIES = 3

const DEFAULTS = { from: 'fabrikam.example', to: 'contoso.example' } as const

export async function initRunbook(
  given: string | undefined,
  flags: InitFlags,
  io: Io,
): Promise<void> {
  const starter = given === undefined ? await asked(flags, io) : starterOf(given, flags, io)
  if (sameName(starter.from, starter.to))
    throw usageError(`People would move from "${starter.from}" to itself. Use two domains.`)
  const [yaml, csv] = [`${starter.name}.runbook.yaml`, `${starter.name}.csv`]
  const mayReplace = flags.force === true
  for (const file of [yaml, csv]) requireReplaceable(file, mayReplace)
  const what = `Writes ${yaml} and ${csv}: from ${starter.from} to ${starter.to}, cut-over ${starter.start}.`
  // Ctrl-C at a question takes its default; here it means no.
  if (given === undefined) await confirm({ io, flags: { yes: flags.yes } }, { what, members: 0 })
  const { members, runbook } = await io.runbookStarter()
  await writeNewFile(csv, members(starter), mayReplace)
  await writeNewFile(yaml, runbook(starter), mayReplace)
  io.out(`Wrote ${printable(yaml)} and ${printable(csv)}.`)
  io.out(`Next: matoolkit runbook rehearse ${printable(yaml)}`)
}

const starterOf = (name: string, flags: InitFlags, io: Io): StarterFacts => ({
  name: nameOf(name),
  from: domainOf(flags.from ?? DEFAULTS.from),
  to: domainOf(flags.to ?? DEFAULTS.to),
  start: startOf(flags.start, io),
  noticeFrom: flags.noticeFrom === undefined ? null : addressOf(flags.noticeFrom),
})

/** Asks for what no flag says. */
async function asked(flags: InitFlags, io: Io): Promise<StarterFacts> {
  if (!io.canAsk)
    throw usageError(
      'Give the runbook a name: matoolkit runbook init wave. Without one it asks, on a terminal.',
    )
  const from = flags.from ?? DEFAULTS.from
  const to = flags.to ?? DEFAULTS.to
  const start = startOf(flags.start, io)
  const ask = <T>(isGiven: boolean, question: string, usual: string, read: (text: string) => T) =>
    isGiven ? Promise.resolve(read(usual)) : answer(io, question, usual, read)
  return {
    name: await answer(io, 'Name of the runbook', 'wave', nameOf),
    from: await ask(flags.from !== undefined, 'Domain that people leave', from, domainOf),
    to: await ask(flags.to !== undefined, 'Domain that people move to', to, domainOf),
    start: await ask(flags.start !== undefined, 'First cut-over', start, (text) =>
      startOf(text, io),
    ),
    noticeFrom: await ask(
      flags.noticeFrom !== undefined,
      'Sender of a notice to each person, or "none"',
      flags.noticeFrom ?? 'none',
      (text) => (sameName(text, 'none') ? null : addressOf(text)),
    ),
  }
}

/** An empty line takes the usual answer; a wrong one is asked for again. */
async function answer<T>(
  io: Io,
  question: string,
  usual: string,
  read: (text: string) => T,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    const text = await io.ask(`${question} [${usual}]: `)
    try {
      return read(text === '' ? usual : text)
    } catch (error) {
      if (attempt === TRIES) throw error
      io.err(printable(messageOf(error)))
    }
  }
}

function nameOf(text: string): string {
  if (NAME.test(text)) return text
  throw usageError(
    `"${text}" is not a valid name. Use at most 63 letters, digits, "-" and "_", starting with a letter or digit.`,
  )
}

function domainOf(text: string): string {
  if (DOMAIN.test(text)) return text
  throw usageError(`"${text}" is not a domain. Use one such as contoso.com.`)
}

function addressOf(text: string): string {
  if (ADDRESS.test(text)) return text
  throw usageError(`"${text}" is not a mail address. Use one such as migration@contoso.com.`)
}

/** As the member file has it: to the second, in UTC. */
function startOf(text: string | undefined, io: Io): string {
  const day = new Date(+io.now() + LEAD_DAYS * 86_400_000).toISOString().slice(0, 10)
  const start = text === undefined ? `${day}T20:00:00Z` : readTime({ io }, text)
  if (new Date(start) <= io.now()) throw usageError(`"${text}" is over. Use a later cut-over.`)
  return start.replace(/\.\d+Z$/, 'Z')
}
