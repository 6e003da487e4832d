// Docker Compose itself reads compose.yaml: the plugin, or the older program, which does not know the key `name`.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { ROOT } from '../../kit/processes.ts'
import { ask, works } from './program.ts'

interface Service {
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly ports?: readonly unknown[]
  readonly image: string
}

const SETTINGS = { POSTGRES_PASSWORD: 'secret', MATOOLKIT_JOB_KEY: 'key' }

/** The command that there is, or null. */
async function composeCommand(): Promise<readonly [string, ...string[]] | null> {
  if (await works('docker', ['compose', 'version'])) return ['docker', 'compose']
  return (await works('docker-compose', ['version'])) ? ['docker-compose'] : null
}

describe('compose.yaml', { timeout: 60_000 }, () => {
  it('is right for Docker Compose, and every container of ours is locked down', async (test) => {
    const command = await composeCommand()
    if (command === null) return test.skip('left out: there is no Docker Compose')
    const [program, ...first] = command
    const text = readFileSync(join(ROOT, 'compose.yaml'), 'utf8')
    const given = program === 'docker-compose' ? text.replace(/^name:.*\n/m, '') : text
    const asked = [...first, '-f', '-', '--project-directory', ROOT, 'config']
    await assert.rejects(
      ask(program, asked, given),
      /POSTGRES_PASSWORD/,
      'it asks for what is secret',
    )
    const said = await ask(program, asked, given, { ...process.env, ...SETTINGS })
    const { services } = parse(said) as { services: Record<string, Service> }
    assert.deepEqual(Object.keys(services).sort(), Object.keys(parse(text).services).sort())
    for (const [name, service] of Object.entries(services)) {
      if (service.image !== 'matoolkit') continue
      assert.equal(service.read_only, true, name)
      assert.deepEqual(service.cap_drop, ['ALL'], name)
      assert.deepEqual(service.security_opt, ['no-new-privileges:true'], name)
      assert.equal(service.ports, undefined, `${name} is not open to other machines`)
    }
  })
})
