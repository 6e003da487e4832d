// `matoolkit config …`: profiles with the API's address and the sign-in, and the source of each value.
import { type Command, Option } from 'commander'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { printable } from '../../base/text/printable.ts'
import type { Io } from '../terminal/io.ts'
import type { Column, OutputFormat } from '../terminal/show.ts'
import { outputOption } from './verb.ts'

interface ConfigFlags {
  readonly profile?: string
  readonly apiUrl?: string
  readonly instance?: string
  readonly unset?: true
  readonly output?: OutputFormat
}

const KEYS = 'api-url, issuer, tenant-id, client-id, api-scope, output, zone'
const KEY = ['<key>', `one of ${KEYS}`] as const

/** These commands open no CommandContext: they must work when the API's address is wrong. */
export function addConfigCommands(program: Command, io: Io): void {
  const noun = program.command('config').description('manage profiles and client settings')
  const profile = () => new Option('--profile <name>', 'profile to use')
  noun
    .command('show')
    .description('show every setting and its source')
    .addOption(profile())
    .option('--api-url <url>', 'address of the API')
    .option('--instance <which>', 'a running matoolkit up, by folder or port')
    .addOption(outputOption())
    .addHelpText('after', helpOf('config show', 'config show --profile contoso --output json'))
    .action(async (flags: ConfigFlags) => show(flags, io))
  noun
    .command('set')
    .description('set or remove a value in a profile')
    .argument(...KEY)
    .argument('[value]', 'new value')
    .option('--unset', 'remove the value')
    .addOption(profile())
    .addOption(outputOption(true))
    .addHelpText(
      'after',
      helpOf(
        'config set api-url https://matoolkit.contoso.com --profile contoso',
        'config set output yaml',
        'config set client-id --unset',
      ),
    )
    .action(async (key: string, value: string | undefined, flags: ConfigFlags) => {
      if ((value === undefined) !== (flags.unset === true))
        throw new MatoolkitError('USAGE', { reason: `Give "${key}" a value, or use --unset.` })
      await change(key, value ?? null, flags, io)
    })
  noun
    .command('use')
    .description('select the profile to use')
    .argument('<profile>', 'name of the profile')
    .addOption(outputOption(true))
    .addHelpText('after', helpOf('config use contoso'))
    .action(async (name: string, flags: ConfigFlags) => use(name, flags, io))
  noun
    .command('path')
    .description('print the path of the configuration file')
    .addOption(outputOption(true))
    .addHelpText('after', helpOf('config path'))
    .action(async (flags: ConfigFlags) => {
      const file = (await import('../connection/profile.ts')).configPath()
      await showChange(file, { file }, flags, io)
    })
}

const helpOf = (...examples: readonly string[]): string =>
  [
    '',
    'Flags win over environment variables, which win over the profile. Setting a value creates the profile if needed.',
    '',
    examples.length === 1 ? 'Example:' : 'Examples:',
    ...examples.map((example) => `  $ matoolkit ${example}`),
  ].join('\n')

async function show(flags: ConfigFlags, io: Io): Promise<void> {
  const { openProfile, readConfigFile, configPath } = await import('../connection/profile.ts')
  const { showFor } = await import('../terminal/output.ts')
  const { profile, chosen } = await openProfile(flags)
  const { name, ...known } = profile
  const rows = Object.entries(known).map(([key, { value, from }]) => ({ key, value, from }))
  const { profiles } = readConfigFile()
  const out = showFor(flags.output, { name, ...known }, io)
  const whole = { profile: name, profiles: Object.keys(profiles), file: configPath(), values: rows }
  out.say(`profile ${name}, stored in ${configPath()}\n`)
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
  const others = Object.keys(profiles).filter((profile) => profile !== name)
  if (chosen?.notice) io.err(printable(chosen.notice))
  if (others.length > 0) out.say(`\nother profiles: ${others.join(', ')}`)
}

async function change(key: string, text: string | null, flags: ConfigFlags, io: Io): Promise<void> {
  const { PROFILE_KEYS, readConfigFile, writeConfigFile } = await import('../connection/profile.ts')
  if (!Object.hasOwn(PROFILE_KEYS, key)) {
    throw new MatoolkitError('USAGE', { reason: `"${key}" is not a setting: use one of ${KEYS}.` })
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
  await showChange(`${key} is ${now} in profile ${name}.`, changed, flags, io)
}

/** Prints a sentence, or the same facts in the requested format. */
async function showChange(
  sentence: string,
  whole: Readonly<Record<string, string | null>>,
  { output = 'table' }: ConfigFlags,
  io: Io,
): Promise<void> {
  if (output === 'table') return io.out(sentence)
  const { makeShow } = await import('../terminal/show.ts')
  const columns = Object.keys(whole).map((key): Column<typeof whole> => [key.toUpperCase(), key])
  await makeShow(output, io).one(whole, columns)
}

async function use(name: string, flags: ConfigFlags, io: Io): Promise<void> {
  const { readConfigFile, writeConfigFile, configPath } = await import('../connection/profile.ts')
  const file = readConfigFile()
  if (!Object.hasOwn(file.profiles, name)) {
    throw new MatoolkitError('PROFILE_UNKNOWN', { profile: name, file: configPath() })
  }
  writeConfigFile({ ...file, profile: name })
  await showChange(`Using profile ${name}.`, { profile: name }, flags, io)
}
