// `matoolkit config …`: which API the command line talks to and how it signs in, by profile, and where each value comes from.
import { type Command, Option } from 'commander'
import { MatoolkitError } from '../../errors.ts'
import type { Io } from '../terminal/io.ts'
import type { Column, OutputFormat } from '../terminal/show.ts'
import { outputOption } from './verb.ts'

interface ConfigFlags {
  readonly profile?: string
  readonly apiUrl?: string
  readonly output?: OutputFormat
}

const KEYS = 'api-url, issuer, tenant-id, client-id, api-scope, output'
const KEY = ['<key>', `one of ${KEYS}`] as const

/** Needs no API, so it is no verb of a client: it must work when the API's address is what is wrong. */
export function addConfigCommands(program: Command, io: Io): void {
  const noun = program.command('config').description('choose the API and the way to sign in')
  const profile = () => new Option('--profile <name>', 'of this profile')
  noun
    .command('show')
    .description('show every value and where it comes from')
    .addOption(profile())
    .option('--api-url <url>', 'as if this was given')
    .addOption(outputOption())
    .addHelpText('after', helpOf('config show', 'config show --profile contoso --output json'))
    .action(async (flags: ConfigFlags) => show(flags, io))
  noun
    .command('set')
    .description('keep a value in a profile; a new name makes a new profile')
    .argument(...KEY)
    .argument('<value>', 'what it shall be')
    .addOption(profile())
    .addOption(outputOption(true))
    .addHelpText(
      'after',
      helpOf(
        'config set api-url https://matoolkit.contoso.com --profile contoso',
        'config set output yaml',
      ),
    )
    .action(async (key: string, value: string, flags: ConfigFlags) => change(key, value, flags, io))
  noun
    .command('unset')
    .description('forget a value of a profile')
    .argument(...KEY)
    .addOption(profile())
    .addOption(outputOption(true))
    .addHelpText('after', helpOf('config unset client-id'))
    .action(async (key: string, flags: ConfigFlags) => change(key, null, flags, io))
  noun
    .command('use')
    .description('choose the profile that is used from now on')
    .argument('<profile>', 'its name')
    .addOption(outputOption(true))
    .addHelpText('after', helpOf('config use contoso'))
    .action(async (name: string, flags: ConfigFlags) => use(name, flags, io))
  noun
    .command('path')
    .description('say where the file is')
    .addOption(outputOption(true))
    .addHelpText('after', helpOf('config path'))
    .action(async (flags: ConfigFlags) => {
      const file = (await import('../profile.ts')).configPath()
      await tell(file, { file }, flags, io)
    })
}

const helpOf = (...examples: readonly string[]): string =>
  [
    '',
    'A flag wins over the environment, which wins over the profile in the file.',
    '',
    examples.length === 1 ? 'Example:' : 'Examples:',
    ...examples.map((example) => `  $ matoolkit ${example}`),
  ].join('\n')

async function show(flags: ConfigFlags, io: Io): Promise<void> {
  const { loadProfile, readConfigFile, configPath } = await import('../profile.ts')
  const { showFor } = await import('../terminal/output.ts')
  const { name, ...known } = loadProfile(flags)
  const rows = Object.entries(known).map(([key, { value, from }]) => ({ key, value, from }))
  const { profiles } = readConfigFile()
  const out = showFor(flags.output, { name, ...known }, io)
  const whole = { profile: name, profiles: Object.keys(profiles), file: configPath(), values: rows }
  out.say(`profile ${name}, kept in ${configPath()}\n`)
  await out.list({
    whole,
    rows,
    columns: [
      ['KEY', 'key'],
      ['VALUE', 'value'],
      ['FROM', 'from'],
    ],
    empty: '',
  })
  const others = Object.keys(profiles).filter((one) => one !== name)
  if (others.length > 0) out.say(`\nother profiles: ${others.join(', ')}`)
}

async function change(key: string, text: string | null, flags: ConfigFlags, io: Io): Promise<void> {
  const { PROFILE_KEYS, readConfigFile, writeConfigFile } = await import('../profile.ts')
  if (!Object.hasOwn(PROFILE_KEYS, key)) {
    throw new MatoolkitError('USAGE', { reason: `"${key}" is no key: use one of ${KEYS}.` })
  }
  const { setting } = PROFILE_KEYS[key as keyof typeof PROFILE_KEYS]
  const value = text === null ? undefined : setting.read(text)
  if (text !== null && (value === undefined || value === null)) {
    const details = { name: key, value: text, from: 'as given', mustBe: setting.mustBe }
    throw new MatoolkitError('CLIENT_SETTING_INVALID', details)
  }
  const file = readConfigFile()
  const name = flags.profile ?? file.profile
  const { [key]: _, ...rest } = file.profiles[name] ?? {}
  const stored = value === undefined || value === null ? rest : { ...rest, [key]: value }
  writeConfigFile({ ...file, profiles: { ...file.profiles, [name]: stored } })
  const now = value === undefined || value === null ? 'not set' : value
  const changed = { profile: name, key, value: value ?? null }
  await tell(`${key} is ${now} in profile ${name}.`, changed, flags, io)
}

/** A sentence, or what it says as data where that was asked for. */
async function tell(
  sentence: string,
  whole: Readonly<Record<string, string | null>>,
  { output = 'table' }: ConfigFlags,
  io: Io,
): Promise<void> {
  if (output === 'table') return io.out(sentence)
  const { makeShow } = await import('../terminal/show.ts')
  const columns = Object.keys(whole).map((key): Column => [key.toUpperCase(), key])
  await makeShow(output, io).one(whole, columns)
}

async function use(name: string, flags: ConfigFlags, io: Io): Promise<void> {
  const { readConfigFile, writeConfigFile, configPath } = await import('../profile.ts')
  const file = readConfigFile()
  if (!Object.hasOwn(file.profiles, name)) {
    throw new MatoolkitError('PROFILE_UNKNOWN', { profile: name, file: configPath() })
  }
  writeConfigFile({ ...file, profile: name })
  await tell(`Profile ${name} is used from now on.`, { profile: name }, flags, io)
}
