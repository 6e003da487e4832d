// What npm publishes, installed into an empty folder as a user does it: the program starts there, complete and without a clone.
import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import manifest from '../../../package.json' with { type: 'json' }
import { EXIT } from '../../../src/base/errors/errors.ts'
import { ROOT } from '../../kit/processes.ts'

const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
  packages: Record<
    string,
    { version: string; dev?: boolean; optional?: boolean; devOptional?: boolean }
  >
}
const folder = mkdtempSync(join(tmpdir(), 'matoolkit-package-'))
after(() => rmSync(folder, { recursive: true }))
const home = join(folder, 'home')
const published = join(home, 'node_modules', 'matoolkit')
const env = {
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  NO_COLOR: '1',
  MATOOLKIT_API_PORT: '0',
  MATOOLKIT_HOME: join(folder, 'matoolkit'),
}

/** The command that npm linked, on the Node of these tests. */
const run = (nodeOptions: readonly string[], ...args: readonly string[]) =>
  spawnSync(
    process.execPath,
    [...nodeOptions, join(home, 'node_modules', '.bin', 'matoolkit'), ...args],
    { cwd: home, env, encoding: 'utf8' },
  )

const MISSING = [
  {
    what: 'Service Bus',
    settings: {
      MATOOLKIT_TRANSPORT: 'servicebus',
      MATOOLKIT_SERVICEBUS_NAMESPACE: 'contoso.servicebus.windows.net',
    },
    code: 'BUS_PACKAGE_MISSING',
    packages: ['@azure/service-bus'],
  },
  {
    what: 'telemetry for a collector',
    settings: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' },
    code: 'TELEMETRY_PACKAGE_MISSING',
    packages: [
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/exporter-metrics-otlp-http',
      '@opentelemetry/exporter-logs-otlp-http',
      '@opentelemetry/resources',
    ],
  },
]

/** Each line from the third on must not compile. */
const WRONG_USES = `import { matoolkit } from 'matoolkit-client'
const api = matoolkit({ url: '', token: '' })
void api.call('GET /api/nothing')
void api.call('GET /api/batches/{batchId}')
void api.call('GET /api/batches', { query: { status: ['running'] } })
void api.each('GET /api/status')
`

describe('the published package', { skip: process.platform === 'win32' }, () => {
  before(() => {
    const to = join(folder, 'dist')
    execFileSync(process.execPath, ['scripts/package.ts', '--to', to], { cwd: ROOT, stdio: 'pipe' })
    mkdirSync(home)
    writeFileSync(join(home, 'package.json'), '{}')
    // Everything is in the two tarballs: a registry is not asked.
    const flags = ['--offline', '--no-audit', '--no-fund', '--loglevel=error']
    const tarballs = ['matoolkit', 'matoolkit-client'].map((name) =>
      join(to, `${name}-${manifest.version}.tgz`),
    )
    execFileSync('npm', ['install', ...flags, ...tarballs], { cwd: home, stdio: 'pipe' })
  })

  it('has no TypeScript, no tests and no install step', () => {
    const { scripts, devDependencies, engines } = JSON.parse(
      readFileSync(join(published, 'package.json'), 'utf8'),
    )
    assert.deepEqual(
      [scripts, devDependencies, engines],
      [undefined, undefined, { node: '^24.14.0 || >=25.4.0' }],
    )
    assert.deepEqual(
      globSync('{lib/**/*.ts,sandbox/**/*.ts,test,scripts,src}', { cwd: published }),
      [],
    )
  })

  it('brings the packages that were tested, each in its locked version, and npm adds none', () => {
    const folders = globSync('node_modules/{*,@*/*}', { cwd: home }).toSorted()
    assert.deepEqual(folders, ['node_modules/matoolkit', 'node_modules/matoolkit-client'])
    const installed = globSync('**/node_modules/{[!@]*,@*/*}/package.json', { cwd: published })
    const versions = installed.map((path) => {
      const { version } = JSON.parse(readFileSync(join(published, path), 'utf8'))
      return `${dirname(path)} ${version}`
    })
    const locked = Object.entries(lock.packages)
      .filter(([path, { dev, optional, devOptional }]) => path && !dev && !optional && !devOptional)
      .map(([path, { version }]) => `${path} ${version}`)
    assert.deepEqual(versions.toSorted(), locked.toSorted())
  })

  it('is small: at most 90 packages and 70 MB, and nothing that never runs', () => {
    const files = globSync('**/*', { cwd: published, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
    const bytes = files.reduce((sum, path) => sum + statSync(path).size, 0)
    assert.ok(bytes < 70e6, `${bytes} bytes`)
    assert.ok(
      globSync('**/node_modules/{[!@]*,@*/*}/package.json', { cwd: published }).length <= 90,
    )
    assert.deepEqual(
      files.filter((path) => /node_modules.*node_modules.*\.(?:map|ts)$/.test(path)),
      [],
    )
  })

  for (const { what, settings, code, packages } of MISSING)
    it(`prints the command that installs ${what}, which it does not bring`, () => {
      const { status, stderr } = spawnSync(
        process.execPath,
        [join(published, 'bin', 'matoolkit'), 'serve', '--roles', 'orchestrator'],
        { cwd: home, env: { ...env, ...settings }, encoding: 'utf8' },
      )
      assert.notEqual(status, EXIT.ok)
      const versions = manifest.optionalDependencies as Record<string, string>
      const command = packages.map((name) => `${name}@${versions[name]}`).join(' ')
      assert.ok(stderr.includes(code), stderr)
      assert.ok(stderr.includes(`Run "npm install --prefix ${home} ${command}"`), stderr)
    })

  it('has a client that needs nothing and runs on Node 20', () => {
    const client = JSON.parse(
      readFileSync(join(home, 'node_modules/matoolkit-client/package.json'), 'utf8'),
    )
    assert.deepEqual([client.dependencies, client.peerDependencies], [undefined, undefined])
    assert.deepEqual(client.engines, { node: '>=20' })
    assert.deepEqual(
      globSync('**/node_modules', { cwd: join(home, 'node_modules/matoolkit-client') }),
      [],
    )
  })

  it('has every file of the program, each line where it is in the sources', () => {
    const lines = (path: string) => readFileSync(path, 'utf8').split('\n').length
    for (const [sources, installed] of [
      ['src', 'lib'],
      ['sandbox', 'sandbox'],
    ] as const) {
      const files = globSync('**/*.*', { cwd: join(ROOT, sources) })
      assert.ok(files.length > 50, `${files.length}`)
      for (const file of files) {
        const there = join(published, installed, file.replace(/\.ts$/, '.js'))
        assert.ok(existsSync(there), file)
        assert.equal(lines(there), lines(join(ROOT, sources, file)), file)
      }
    }
  })

  it('has the PowerShell module, which no clone has', () => {
    assert.ok(!existsSync(join(ROOT, 'powershell')))
    const module = readFileSync(join(published, 'powershell/Matoolkit/Matoolkit.psm1'), 'utf8')
    assert.match(module, /^function Get-MatStatus \{$/m)
    const declared = readFileSync(join(published, 'powershell/Matoolkit/Matoolkit.psd1'), 'utf8')
    assert.match(declared, /RootModule = 'Matoolkit\.psm1'/)
  })

  it('says its version and validates a runbook', () => {
    const version = run([], '--version')
    assert.deepEqual([version.status, version.stdout.trim()], [EXIT.ok, manifest.version])
    const example = join(published, 'examples', 'full-migration.yaml')
    const valid = run([], 'runbook', 'validate', example)
    assert.deepEqual([valid.status, valid.stderr], [EXIT.ok, ''])
  })

  it('has a client whose types a strict consumer compiles, with or without a browser’s', () => {
    const [, example] = /```ts\n(.*?)```/s.exec(readFileSync(join(ROOT, 'docs/api.md'), 'utf8'))!
    writeFileSync(join(home, 'example.mts'), example!)
    writeFileSync(join(home, 'wrong.mts'), WRONG_USES)
    const tsc = (files: readonly string[], ...libraries: readonly string[]) =>
      spawnSync(
        process.execPath,
        [
          join(ROOT, 'node_modules/typescript/bin/tsc'),
          '--ignoreConfig',
          '--strict',
          '--exactOptionalPropertyTypes',
          '--module',
          'nodenext',
          '--target',
          'es2022',
          '--typeRoots',
          join(ROOT, 'node_modules/@types'),
          ...libraries,
          ...files,
        ],
        { cwd: home, encoding: 'utf8' },
      )
    const node = tsc(['example.mts'], '--lib', 'es2022', '--types', 'node')
    assert.deepEqual([node.stdout, node.status], ['', 0])
    assert.ok(existsSync(join(home, 'example.mjs')))
    const wrong = tsc(['wrong.mts', '--noEmit'], '--lib', 'es2022,dom,dom.asynciterable')
    const lines = wrong.stdout.match(/^wrong\.mts\((\d+),/gm)
    assert.deepEqual(
      lines,
      [3, 4, 5, 6].map((line) => `wrong.mts(${line},`),
      wrong.stdout,
    )
  })

  it('starts everything with a sandbox, answers, and stops on Ctrl-C', async () => {
    const command = [join(home, 'node_modules', '.bin', 'matoolkit'), 'up', '--sandbox']
    const up = spawn(process.execPath, command, { cwd: home, env })
    try {
      let said = ''
      await new Promise<void>((resolve, reject) => {
        const hear = (text: Buffer) => {
          said += text
          if (said.includes('Press Ctrl-C to stop')) resolve()
        }
        up.stdout.on('data', hear)
        up.stderr.on('data', hear)
        up.once('close', () => reject(new Error(said)))
      })
      const status = run([], 'status', '--output', 'json')
      assert.equal(status.status, EXIT.ok, status.stderr)
      assert.equal(typeof JSON.parse(status.stdout), 'object')
      const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(said)!
      const token = readFileSync(join(home, '.matoolkit', 'api-token'), 'utf8')
      const example = spawnSync(process.execPath, ['example.mjs'], {
        cwd: home,
        env: { ...env, MATOOLKIT_API_URL: address, MATOOLKIT_TOKEN: token },
        encoding: 'utf8',
      })
      assert.deepEqual([example.status, example.stderr], [0, ''])
      assert.match(example.stdout, /^No action needed/)
      const page = await (await fetch(address, { headers: { accept: 'text/html' } })).text()
      assert.match(page, /<script type="module" crossorigin src="\.\/assets\/index-/)
      const ended = new Promise((resolve) => up.once('close', resolve))
      up.kill('SIGINT')
      assert.equal(await ended, EXIT.ok, said)
    } finally {
      up.kill('SIGKILL')
    }
  })

  it('asks for Node 24.14 in one sentence on an older one', () => {
    for (const version of ['22.3.0', '24.13.1']) {
      const older = `data:text/javascript,Object.defineProperty(process.versions, 'node', { value: '${version}' })`
      const refused = run(['--import', older], '--version')
      assert.deepEqual([refused.status, refused.stdout], [1, ''])
      assert.equal(
        refused.stderr,
        `matoolkit: needs Node 24.14 or newer (of Node 25: 25.4 or newer); this is ${version}. Install Node 24 from https://nodejs.org/en/download and run the command again.\n`,
      )
    }
  })

  it('keeps compiled code where only its user can write, and nowhere else', () => {
    const kept = (home: string, mode: number) => {
      mkdirSync(home)
      chmodSync(home, mode)
      const command = join(published, 'bin', 'matoolkit')
      const { status } = spawnSync(process.execPath, [command, '--version'], {
        env: { ...env, MATOOLKIT_HOME: home },
      })
      assert.equal(status, EXIT.ok)
      return globSync('compile-cache/*/*', { cwd: home }).length
    }
    assert.ok(kept(join(folder, 'private'), 0o700) > 10)
    const { mode } = statSync(join(folder, 'private', 'compile-cache'))
    assert.equal(mode & 0o077, 0)
    assert.equal(kept(join(folder, 'open'), 0o777), 0)
  })
})
