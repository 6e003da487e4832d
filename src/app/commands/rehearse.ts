// `matoolkit runbook rehearse` and `batch rehearse`: names and flags, added to the commands of runbooks and batches. The code is loaded
// when they run.
import { type Command, InvalidArgumentError } from 'commander'
import { addVerb, BATCH_ARG, outputOption } from '../../cli/commands/verb.ts'
import { textFlag } from '../../cli/program/command-context.ts'
import type { Io } from '../../cli/terminal/io.ts'
import type { RehearseFlags } from '../rehearsal/command.ts'

const SEED_MAX = 1_000_000_000
const SLOTS_MAX = 64
const SLOTS = 32

export function addRehearseCommand(program: Command, io: Io): void {
  program.commands
    .find((noun) => noun.name() === 'runbook')!
    .command('rehearse')
    .description('rehearse a migration in seconds, without a server')
    .argument('<file>', 'runbook file (YAML)')
    .option('--members <csv>', "the people (default: the runbook's own CSV)")
    .option('--tenant <json>', 'the tenants (default: what the runbook expects)')
    .option('--start <time>', 'when it begins (default: before the first phase)')
    .option('--faults <names>', 'what goes wrong: names, or a JSON file')
    .option(
      '--windows-file <yaml>',
      "the system's change windows (default: MATOOLKIT_WINDOWS_FILE)",
    )
    .option('--seed <number>', 'chooses durations and faults', numberUpTo(SEED_MAX), 1)
    .option('--slots <number>', 'jobs that a worker runs at once', numberUpTo(SLOTS_MAX), SLOTS)
    .option('--notifications <yaml>', 'channels and rules; nothing is sent')
    .addOption(outputOption())
    .addHelpText('after', REHEARSE_HELP)
    .action(async (file: string, flags: RehearseFlags) => {
      const { runRehearse } = await import('../rehearsal/command.ts')
      await runRehearse(file, flags, io)
    })
}

/** Added to the commands of batches. */
export function addRehearseBatchCommand(program: Command, io: Io): void {
  const noun = program.commands.find((one) => one.name() === 'batch')!
  addVerb(noun, io, {
    name: 'rehearse',
    about: 'rehearse what is left of a batch',
    args: [BATCH_ARG],
    options: [
      ['--faults <names>', 'what goes wrong from now on'],
      ['--seed <number>', 'chooses durations and faults (default: 1)'],
      ['--slots <slots>', 'jobs that a worker runs at once (default: 32)'],
      ['--people <number>', 'only this many, the first of the batch'],
      ['--without <keys>', 'people who stay out, comma-separated'],
      ['--without-file <path>', 'people who stay out, one a line'],
      ['--compare', 'compare the batch as it is with the change'],
    ],
    more: REHEARSE_BATCH_HELP,
    examples: [
      'batch rehearse 7',
      'batch rehearse 7 --faults throttling',
      'batch rehearse 7 --compare --slots contoso-worker=16 --people 300',
      'batch rehearse 7 --compare --without ada@fabrikam.com,ben@fabrikam.com',
    ],
    run: async (context, [id], flags) => {
      const { runRehearseBatch, slotsFlag } = await import('../rehearsal/batch-command.ts')
      const { WHAT_IF_SLOTS_MAX } = await import('../../domain/plan/what-if.ts')
      await runRehearseBatch(context, id, {
        slots: slotsFlag(textFlag(flags, 'slots'), WHAT_IF_SLOTS_MAX),
        people: flags.people === undefined ? null : wholeFlag(flags.people, SEED_MAX, 1),
        seed: wholeFlag(flags.seed, SEED_MAX, 1),
      })
    },
  })
}

const wholeFlag = (given: unknown, max: number, usual: number): number =>
  typeof given === 'string' ? numberUpTo(max)(given) : usual

const REHEARSE_BATCH_HELP = `Its people, where they are now, from now on, with the system's change windows and notifications, in a process next to the API: one at a
time, for at most ten minutes. It needs the role Admin. Nothing live is touched. What people have passed is repeated first and not
counted; failed and removed people stay out. docs/rehearsal.md explains it. For tenants, windows, notifications or scripted faults of
your own, rehearse a file: matoolkit runbook rehearse.

With --compare it is rehearsed twice with one seed, as it is and with the change: slots, people or faults. Slots as they are come from
the workers; --slots takes a number for all, or one by worker.

Exit code: 0 ready (warnings are allowed) or compared, 1 not ready or no report, 2 wrong usage.`

const numberUpTo =
  (max: number) =>
  (text: string): number => {
    if (/^\d{1,10}$/.test(text) && Number(text) >= 1 && Number(text) <= max) return Number(text)
    throw new InvalidArgumentError(`Use a whole number from 1 to ${max}.`)
  }

const REHEARSE_HELP = `
Runs scheduler, orchestrator and workers on a database in memory, two sandbox tenants and a clock that skips idle time: weeks
take seconds. Says whether the runbook is ready, who would fail and why, and what rollbacks leave behind. docs/rehearsal.md explains it.
The same seed gives the same result.

Exit code: 0 ready (warnings are allowed), 1 not ready, 2 wrong usage.

Examples:
  $ matoolkit runbook rehearse examples/first-migration.yaml
  $ matoolkit runbook rehearse wave.yaml --members wave.csv --output json
  $ matoolkit runbook rehearse wave.yaml --faults throttling,worker-crash`
