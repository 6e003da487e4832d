// Two real `matoolkit up`s on one machine are kept apart, and what keeps one from starting is told before anything starts.
import assert from 'node:assert/strict'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { plain, plainCsv } from '../../api/contract/fixtures.ts'
import { type Started, start } from '../../kit/processes.ts'
import { makeDataFolder } from '../../kit/schema-copies.ts'

const root = mkdtempSync(join(tmpdir(), 'matoolkit-instances-'))
const home = join(root, 'home')
const env = { MATOOLKIT_HOME: home, MATOOLKIT_OUTPUT: 'json' }
const folderOf = (name: string): string => join(root, name)
const WHY = ['--reason', 'because']

interface Up extends Started {
  readonly port: string
}

async function startUp(name: string): Promise<Up> {
  const up = start(['up'], { ...env, MATOOLKIT_API_PORT: '0' }, folderOf(name))
  const [, port] = await up.saying(/matoolkit is up: http:\/\/127\.0\.0\.1:(\d+)/)
  return { ...up, port: port! }
}

/** Runs a command in a folder below the root. */
const run = (name: string, ...args: string[]) => start(args, env, folderOf(name)).ended

async function batchesIn(name: string, ...flags: string[]): Promise<{ isHeld: boolean }[]> {
  const { code, out, err } = await run(name, 'batch', 'list', ...flags)
  assert.equal(code, EXIT.ok, err)
  const { batches } = JSON.parse(out) as { batches: { held: object | null }[] }
  return batches.map(({ held }) => ({ isHeld: held !== null }))
}

describe('two instances on one machine', () => {
  let [one, two]: (Up | undefined)[] = []
  before(async () => {
    for (const name of ['one/sub', 'two', 'elsewhere']) {
      mkdirSync(folderOf(name), { recursive: true })
    }
    for (const name of ['one', 'two'])
      await makeDataFolder(join(folderOf(name), '.matoolkit', 'data'))
    ;[one, two] = await Promise.all([startUp('one'), startUp('two')])
    writeFileSync(join(root, 'plain.yaml'), plain())
    writeFileSync(join(root, 'people.csv'), plainCsv('ada@x.example'))
    for (const args of [
      ['runbook', 'publish', join(root, 'plain.yaml')],
      ['batch', 'create', 'plain', join(root, 'people.csv')],
    ]) {
      const { code, err } = await run('one/sub', ...args)
      assert.equal(code, EXIT.ok, err)
      assert.match(err, new RegExp(`Using the instance in .*/one, port ${one.port}; 2 run here`))
    }
  })
  after(async () => {
    for (const up of [one, two]) {
      up?.kill('SIGINT')
      await up?.ended
    }
    rmSync(root, { recursive: true })
  })

  it('are listed in files that only their owner can read', () => {
    const files = readdirSync(join(home, 'instances'))
    assert.equal(files.length, 2)
    if (process.platform === 'win32') return
    assert.equal(statSync(join(home, 'instances')).mode & 0o777, 0o700)
    for (const file of files) {
      assert.equal(statSync(join(home, 'instances', file)).mode & 0o777, 0o600)
    }
  })

  it('answer each in their own folder', async () => {
    assert.equal((await batchesIn('one')).length, 1)
    assert.deepEqual(await batchesIn('two'), [])
  })

  it('are read from elsewhere with a word on which one', async () => {
    const { code, err } = await run('elsewhere', 'batch', 'list')
    assert.equal(code, EXIT.ok)
    assert.match(err, /^Reading from the instance in .*: 2 instances run, none of them in this/)
    for (const up of [one!, two!]) assert.ok(err.includes(`--instance ${up.port} (`), err)
  })

  it('are not changed from elsewhere by a guess', async () => {
    const { code, out, err } = await run('elsewhere', 'hold', '--batch', '1', ...WHY)
    assert.deepEqual([code, out], [EXIT.conflict, ''])
    assert.match(err, /^matoolkit: Nothing was changed, .* 2 instances run[\s\S]*INSTANCE_UNCLEAR/)
    for (const up of [one!, two!]) assert.ok(err.includes(`--instance ${up.port} (`), err)
    assert.deepEqual(await batchesIn('one'), [{ isHeld: false }])
    assert.deepEqual(await batchesIn('two'), [])
  })

  it('are chosen by port or folder', async () => {
    const byPort = await run('elsewhere', '--instance', one!.port, 'hold', '--batch', '1', ...WHY)
    assert.deepEqual([byPort.code, /Reading|Using/.test(byPort.err)], [EXIT.ok, false], byPort.err)
    assert.deepEqual(await batchesIn('elsewhere', '--instance', '../one/sub'), [{ isHeld: true }])
    assert.deepEqual(await batchesIn('one', '--instance', folderOf('two')), [])
    const unknown = await run('one', 'batch', 'list', '--instance', '1')
    assert.equal(unknown.code, EXIT.notFound)
    assert.match(unknown.err, /runs as "1".*\/one, port \d+.*\(INSTANCE_UNKNOWN\)/)
    const address = `http://127.0.0.1:${one!.port}`
    assert.equal((await batchesIn('two', '--api-url', address)).length, 1)
  })

  it('tell a third one that its port is taken, before anything starts', async () => {
    const settings = { ...env, MATOOLKIT_API_PORT: one!.port }
    const busy = await start(['up', '--sandbox'], settings, folderOf('elsewhere')).ended
    assert.deepEqual([busy.code, busy.out], [EXIT.unavailable, ''])
    assert.match(
      busy.err,
      /^matoolkit: The API cannot listen on 127\.0\.0\.1, port \d+: "matoolkit up" in .*\/one uses it \(process \d+\)\. .*MATOOLKIT_API_PORT/,
    )
    const served = await start(['serve', '--roles', 'api'], settings, folderOf('elsewhere')).ended
    assert.match(served.err, /uses it \(process \d+\).*\(ADDRESS_UNUSABLE\)\n$/)
    assert.ok(!/Starting|Started/.test(busy.err + served.err + served.out))
  })

  it('are forgotten when they die, and their folder does not speak for another one', async () => {
    two!.kill('SIGKILL')
    await two!.ended
    const resumed = await run('elsewhere', 'resume', '--batch', '1', ...WHY)
    assert.deepEqual([resumed.code, resumed.err], [EXIT.ok, ''])
    assert.equal(readdirSync(join(home, 'instances')).length, 1)
    const astray = await run('two', 'hold', '--batch', '1', ...WHY)
    assert.equal(astray.code, EXIT.conflict)
    assert.match(
      astray.err,
      /the instance of .*\/two does not run\. Add --instance \d+ \(.*\/one\)/,
    )
    assert.deepEqual(await batchesIn('one'), [{ isHeld: false }])
  })

  it('leave the list when they stop', async () => {
    one!.kill('SIGINT')
    assert.equal((await one!.ended).code, EXIT.ok)
    assert.deepEqual(readdirSync(join(home, 'instances')), [])
    const nobody = await run('elsewhere', 'batch', 'list')
    assert.equal(nobody.code, EXIT.unavailable)
    assert.match(nobody.err, /"matoolkit up" starts one on this machine/)
  })
})

describe('a folder that others can use', { skip: process.platform === 'win32' }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-open-'))
  after(() => rmSync(folder, { recursive: true }))
  const open = join(folder, 'data')
  mkdirSync(open)
  writeFileSync(join(open, 'planted.sql'), '')
  const CASES: [command: string, setting: string, mode: number][] = [
    ['up', 'MATOOLKIT_DATA_DIR', 0o755],
    ['serve', 'MATOOLKIT_DATA_DIR', 0o750],
    ['up', 'MATOOLKIT_HOME', 0o777],
  ]
  for (const [command, setting, mode] of CASES) {
    it(`is refused by ${command} before anything starts: ${setting}, ${mode.toString(8)}`, async () => {
      chmodSync(open, mode)
      const settings = { MATOOLKIT_API_PORT: '0', MATOOLKIT_HOME: join(folder, 'home') }
      const { code, out, err } = await start([command], { ...settings, [setting]: open }, folder)
        .ended
      assert.deepEqual([code, out], [EXIT.unavailable, ''])
      assert.ok(
        err.startsWith(`matoolkit: The folder "${open}" is not safe: other users can `),
        err,
      )
      assert.match(
        err,
        /run chmod (?:-R go=|go-w) ".*", or set MATOOLKIT_\w+ to .*\(FOLDER_UNSAFE\)\n$/,
      )
      assert.deepEqual(readdirSync(open), ['planted.sql'])
    })
  }
})

describe('a folder that cannot be written to', () => {
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-unwritable-'))
  after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'file'), '')
  const below = join(folder, 'file', 'data')
  const free = { MATOOLKIT_API_PORT: '0', MATOOLKIT_HOME: join(folder, 'home') }
  const CASES: [args: string[], settings: Record<string, string>, setting: string][] = [
    [['up'], { MATOOLKIT_DATA_DIR: below }, 'MATOOLKIT_DATA_DIR'],
    [['up'], { MATOOLKIT_HOME: below }, 'MATOOLKIT_HOME'],
    [['serve'], { MATOOLKIT_DATA_DIR: below }, 'MATOOLKIT_DATA_DIR'],
    [['serve'], { MATOOLKIT_API_TOKEN_FILE: join(below, 't') }, 'MATOOLKIT_API_TOKEN_FILE'],
  ]
  for (const [args, settings, setting] of CASES) {
    it(`is told by ${args[0]} before anything starts: ${setting}`, async () => {
      const { code, out, err } = await start(args, { ...free, ...settings }, folder).ended
      assert.deepEqual([code, out], [EXIT.unavailable, ''])
      assert.ok(err.startsWith(`matoolkit: Cannot write to the folder "${below}": `), err)
      assert.match(err, new RegExp(`set ${setting}\\. \\(FOLDER_UNWRITABLE\\)\\n$`))
    })
  }
})
