// A stand-in for Azure's command line, for the scripts of infra/: it keeps the images of the apps in a file and says what its story wants.
// There is no emulator of Container Apps.
import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { ROOT } from '../../kit/processes.ts'

export interface AzStory {
  /** The image of each app before. */
  readonly apps: Readonly<Record<string, string>>
  readonly migration?: 'Succeeded' | 'Failed'
  /** Apps whose new revision never gets healthy. */
  readonly sick?: readonly string[]
  /** What the disk of the database has grown to. */
  readonly diskGb?: number
  readonly outputs?: Readonly<Record<string, string>>
  /** The secret with the job keys, and the step that wrote it. */
  readonly jobKey?: { readonly value: string; readonly rotation?: string }
  /** What each deployment is refused with, in order; then they succeed. */
  readonly refusals?: readonly string[]
}

export interface AzRun {
  readonly code: number | null
  readonly said: string
  /** Every call that changes something, in order, without its common flags. */
  readonly changes: readonly string[]
  readonly apps: Readonly<Record<string, string>>
  readonly jobKey: AzStory['jobKey']
}

/** Plain JavaScript, because it is the whole program; `story` and `log` are files in its folder. */
const AZ = `#!/usr/bin/env node
const { appendFileSync, readFileSync, writeFileSync } = require('node:fs')
const folder = process.env.AZ_FOLDER
const story = JSON.parse(readFileSync(folder + '/story.json', 'utf8'))
const args = process.argv.slice(2)
const flag = (name) => { const at = args.indexOf('--' + name); return at < 0 ? undefined : args[at + 1] }
const words = args.slice(0, args.findIndex((arg) => arg.startsWith('--'))).join(' ')
const query = flag('query') ?? ''
const app = flag('name')
const say = (text) => { console.log(text); process.exit(0) }
const changed = (text) => appendFileSync(folder + '/changes', text + '\\n')
switch (words) {
  case 'containerapp list':
    say(query.includes('image') ? story.apps['matoolkit-api'] ?? '' : Object.keys(story.apps).join('\\n'))
  case 'containerapp show':
    if (query.includes('image')) say(story.apps[app])
    if (query.includes('latestRevisionName')) say(app + '--2')
    say('api.example')
  case 'containerapp update': {
    changed('update ' + app + ' ' + flag('image'))
    story.apps[app] = flag('image')
    writeFileSync(folder + '/story.json', JSON.stringify(story))
    say(app)
  }
  case 'containerapp revision show':
    if (story.sick?.includes(app) && story.apps[app] === process.env.AZ_NEW) say('Provisioned Unhealthy 1')
    say(app.endsWith('worker') ? 'Provisioned None 0' : 'Provisioned Healthy 1')
  case 'containerapp job update':
    changed('job update ' + flag('image'))
    say(app)
  case 'containerapp job start':
    changed('job start')
    say(app + '-1')
  case 'containerapp job execution show':
    say(story.migration ?? 'Succeeded')
  case 'keyvault secret show':
    say(query === 'value' ? story.jobKey.value : story.jobKey.rotation ?? '')
  case 'keyvault secret set':
    changed('secret set ' + flag('tags'))
    story.jobKey = { value: readFileSync(flag('file'), 'utf8'), rotation: flag('tags').split('=')[1] }
    writeFileSync(folder + '/story.json', JSON.stringify(story))
    say('id')
  case 'postgres flexible-server list':
    say(story.diskGb ?? '')
  case 'deployment group show':
    if (!story.outputs) process.exit(3)
    say(query.startsWith('keys') ? Object.keys(story.outputs).join('\\n') : story.outputs[query.split('.')[2]])
  case 'deployment group what-if':
  case 'deployment group create':
    changed(args.join(' '))
    if (story.refusals?.length > 0) {
      console.error(story.refusals.shift())
      writeFileSync(folder + '/story.json', JSON.stringify(story))
      process.exit(1)
    }
    say('done')
  default:
    console.error('az: unexpected ' + args.join(' '))
    process.exit(64)
}
`

/** Runs a script of infra/scripts with the stand-in on its path. */
export async function runWithAz(
  story: AzStory,
  command: readonly [script: string, ...args: string[]],
  env: Readonly<Record<string, string>> = {},
): Promise<AzRun> {
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-az-'))
  try {
    const bin = join(folder, 'bin')
    mkdirSync(bin)
    writeFileSync(join(bin, 'az'), AZ)
    chmodSync(join(bin, 'az'), 0o700)
    writeFileSync(join(folder, 'story.json'), JSON.stringify(story))
    writeFileSync(join(folder, 'changes'), '')
    const [script, ...args] = command
    const ran = await bash([join(ROOT, 'infra/scripts', script), ...args], {
      PATH: `${bin}${delimiter}${process.env.PATH}`,
      AZ_FOLDER: folder,
      AZ_NEW: args[0] ?? '',
      RESOURCE_GROUP: 'group',
      POLL_SEC: '0',
      POLLS: '2',
      SMOKE_WAIT_SEC: '0',
      ...env,
    })
    const read = (file: string) => readFileSync(join(folder, file), 'utf8')
    const changes = read('changes').split('\n').filter(Boolean)
    const { apps, jobKey } = JSON.parse(read('story.json')) as AzStory
    return { ...ran, changes, apps, jobKey }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

export async function bash(
  command: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ code: number | null; said: string }> {
  const child = spawn('bash', [...command], { cwd: ROOT, env })
  let said = ''
  child.stdout.on('data', (text) => (said += text))
  child.stderr.on('data', (text) => (said += text))
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, said }
}
