// The health endpoints of a process without the API, and what a running scheduler and orchestrator show there.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, it } from 'node:test'
import { type HealthOptions, openHealth } from '../../../src/app/roles/health.ts'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { realClock, virtualClock } from '../../../src/base/run/clock.ts'
import { openTestPostgres } from '../../kit/databases.ts'
import { freePort } from '../../kit/postgres-server.ts'
import { start } from '../../kit/processes.ts'

const QUIET: HealthOptions = {
  port: 0,
  clock: realClock(),
  whyNotReady: () => null,
  metrics: async () => [],
}
const asking = (port: number) => async (path: string) => {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`)
  return `${answer.status} ${await answer.text()}`
}

describe('the health endpoints', () => {
  it('distinguish alive from ready and serve nothing else', async () => {
    let reason: string | null = 'not started'
    const health = await openHealth({ ...QUIET, whyNotReady: () => reason })
    const ask = asking(health.port)
    assert.equal(await ask('/health'), '200 {"status":"ok"}')
    assert.equal(await ask('/ready'), '503 {"status":"not started"}')
    reason = null
    assert.equal(await ask('/ready'), '200 {"status":"ok"}')
    assert.equal(await ask('/'), '404 {"status":"not found"}')
    await assert.rejects(openHealth({ ...QUIET, port: health.port }), { code: 'PORT_UNUSABLE' })
    await health.close()
  })

  it('ask the database for metrics at most every 5 s, and say no reason when it does not answer', async () => {
    const clock = virtualClock(new Date('2026-03-01T10:00:00Z'))
    let asked = 0
    const metrics = async () => {
      asked += 1
      if (asked === 2) throw new Error('password of ada@x.example is wrong')
      return [`asked ${asked}`]
    }
    const health = await openHealth({ ...QUIET, clock, metrics })
    const ask = asking(health.port)
    assert.equal(await ask('/metrics'), '200 asked 1\n')
    assert.equal(await ask('/metrics'), '200 asked 1\n')
    await clock.advance(5_000)
    assert.equal(await ask('/metrics'), '503 {"status":"the database does not answer"}')
    await clock.advance(5_000)
    assert.equal(await ask('/metrics'), '200 asked 3\n')
    await health.close()
  })

  it('answer although somebody keeps hundreds of connections open', async () => {
    const health = await openHealth(QUIET)
    const sockets: Socket[] = []
    try {
      for (let at = 0; at < 300; at++) {
        const socket = connect({ host: '127.0.0.1', port: health.port })
        socket.on('error', () => {}).resume()
        sockets.push(socket)
        await once(socket, 'connect')
      }
      assert.equal(await asking(health.port)('/health'), '200 {"status":"ok"}')
      const open = sockets.filter((socket) => !socket.closed && !socket.readableEnded)
      assert.ok(open.length <= 100, `${open.length} are open`)
    } finally {
      for (const socket of sockets) socket.destroy()
      await health.close()
    }
  })
})

describe('matoolkit serve without the API', () => {
  it('is healthy, ready and measured as scheduler and orchestrator, and closes the port at the end', async () => {
    const test = await openTestPostgres()
    await using _ = { [Symbol.asyncDispose]: () => test.close() }
    const port = await freePort()
    await using served = start(['serve', '--roles', 'scheduler,orchestrator'], {
      DATABASE_URL: test.url!,
      MATOOLKIT_HEALTH_PORT: String(port),
    })
    await served.saying(/"msg":"Started"/)
    const ask = asking(port)
    assert.equal(await ask('/health'), '200 {"status":"ok"}')
    assert.equal(await ask('/ready'), '200 {"status":"ok"}')
    const metrics = await ask('/metrics')
    assert.match(metrics, /^200 /)
    assert.match(metrics, /^matoolkit_late_seconds\{timer="phase"\} 0$/m)
    assert.match(metrics, /^process_resident_memory_bytes \d+$/m)
    served.kill('SIGTERM')
    assert.equal((await served.ended).code, EXIT.ok)
    await assert.rejects(ask('/health'))
  })
})
