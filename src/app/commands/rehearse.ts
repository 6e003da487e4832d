// `matoolkit runbook rehearse`: its name and flags, added to the commands of runbooks. The code is loaded when it runs.
import { type Command, InvalidArgumentError } from 'commander'
import { addVerb, BATCH_ARG, outputOption } from '../../cli/commands/verb.ts'
import type { Io } from '../../cli/terminal/io.ts'
import type { RehearseFlags } from '../rehearsal/command.ts'

const SEED_MAX = 1_000_000_000
const SLOTS_MAX = 64
const SLOTS = 32
const WINDOWS_FILE = "the system's change windows (default: MATOOLKIT_WINDOWS_FILE)"

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
    .option('--windows-file <yaml>', WINDOWS_FILE)
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
      ['--tenant <json>', 'the tenants before the batch (default: as expected)'],
      ['--faults <names>', 'what goes wrong: names, or a JSON file'],
      ['--windows-file <yaml>', WINDOWS_FILE],
      ['--seed <number>', 'chooses durations and faults (default: 1)'],
      ['--slots <number>', 'jobs that a worker runs at once (default: 32)'],
      ['--notifications <yaml>', 'channels and rules; nothing is sent'],
    ],
    more: REHEARSE_BATCH_HELP,
    examples: ['batch rehearse 7', 'batch rehearse 7 --faults throttling'],
    run: async (context, [id], flags) => {
      const { runRehearseBatch } = await import('../rehearsal/command.ts')
      await runRehearseBatch(context, id, {
        ...(flags as Partial<RehearseFlags>),
        seed: wholeFlag(flags.seed, SEED_MAX, 1),
        slots: wholeFlag(flags.slots, SLOTS_MAX, SLOTS),
      })
    },
  })
}

/** Added to the commands of batches. */
export function addWhatIfCommand(program: Command, io: Io): void {
  const noun = program.commands.find((one) => one.name() === 'batch')!
  addVerb(noun, io, {
    name: 'what-if',
    about: 'compare a batch with and without a change',
    args: [BATCH_ARG],
    options: [
      ['--slots <slots>', 'slots of every worker, or such as contoso-worker=16'],
      ['--people <number>', 'only so many, the first of the batch'],
      ['--without <keys>', 'people who stay out, comma-separated'],
      ['--without-file <path>', 'people who stay out, one a line'],
      ['--faults <names>', 'what goes wrong'],
      ['--seed <number>', 'chooses durations and faults (default: 1)'],
      ['--tenant <json>', 'the tenants before the batch (default: as expected)'],
    ],
    more: WHAT_IF_HELP,
    examples: [
      'batch what-if 7 --slots 16',
      'batch what-if 7 --slots contoso-worker=16 --people 300',
      'batch what-if 7 --without ada@fabrikam.com,ben@fabrikam.com',
      'batch what-if 7 --faults worker-down',
    ],
    run: async (context, [id], flags) => {
      const { runWhatIf, slotsFlag } = await import('../rehearsal/what-if-command.ts')
      const { WHAT_IF_SLOTS_MAX } = await import('../../domain/plan/what-if.ts')
      const slots = slotsFlag(flags.slots as string | undefined, WHAT_IF_SLOTS_MAX)
      const people = flags.people === undefined ? null : wholeFlag(flags.people, SEED_MAX, 1)
      await runWhatIf(context, id, { slots, people, seed: wholeFlag(flags.seed, SEED_MAX, 1) })
    },
  })
}

const WHAT_IF_HELP = `Rehearses what is left of the batch twice with one seed, as it is and with the change, and compares when its phases end. Slots as they
are come from the workers. Nothing live is touched: the API is only read. docs/rehearsal.md explains it.
Exit code: 0 whatever the comparison says, 2 wrong usage.`

const wholeFlag = (given: unknown, max: number, usual: number): number =>
  typeof given === 'string' ? numberUpTo(max)(given) : usual

const REHEARSE_BATCH_HELP = `Its people, where they are now, from now on, on a database in memory and simulated tenants. Nothing live is touched: the API is only
read. What people have passed is repeated first and not counted; failed and removed people stay out. docs/rehearsal.md explains it.
Exit code: 0 ready (warnings are allowed), 1 not ready, 2 wrong usage.`

const numberUpTo =
  (max: number) =>
  (text: string): number => {
    if (/^\d{1,10}$/.test(text) && Number(text) >= 1 && Number(text) <= max) return Number(text)
    throw new InvalidArgumentError(`Use a whole number from 1 to ${max}.`)
  }

const REHEARSE_HELP = `
Runs scheduler, orchestrator and workers on a database in memory, two sandbox tenants and a clock that skips what nobody waits for: weeks
take seconds. Says whether the runbook is ready, who would fail and why, and what rollbacks leave behind. docs/rehearsal.md explains it.
The same seed gives the same result.

Exit code: 0 ready (warnings are allowed), 1 not ready, 2 wrong usage.

Examples:
  $ matoolkit runbook rehearse examples/first-migration.yaml
  $ matoolkit runbook rehearse wave.yaml --members wave.csv --output json
  $ matoolkit runbook rehearse wave.yaml --faults throttling,worker-crash`
