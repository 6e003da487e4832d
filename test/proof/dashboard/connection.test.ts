// The dashboard behind a proxy that shows it under a path, loses connections, and at times the whole API.
import assert from 'node:assert/strict'
import {
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { dashboardLink } from '../../../src/base/keys/local-token.ts'
import { plain } from '../../api/contract/fixtures.ts'
import { openPage } from '../../kit/browser.ts'
import { assertSound, type DashboardUnderTest, openDashboard } from './under-test.ts'

const PATH = '/migration/'

/** Forwards what is under PATH, and remembers what it was asked. */
class ReverseProxy {
  readonly asked: string[] = []
  isDown = false
  #streams = new Set<Socket>()
  #server: Server = createServer((incoming, outgoing) => this.#forward(incoming, outgoing))

  async open(target: string): Promise<string> {
    this.#target = new URL(target)
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }
  #target = new URL('http://127.0.0.1')

  #forward(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const url = incoming.url ?? ''
    this.asked.push(url)
    if (this.isDown || !url.startsWith(PATH)) {
      outgoing.writeHead(this.isDown ? 502 : 404).end()
      return
    }
    if (url.startsWith(`${PATH}api/events`)) this.#streams.add(incoming.socket)
    const { port } = this.#target
    const headers = { ...incoming.headers, host: `127.0.0.1:${port}` }
    const path = url.slice(PATH.length - 1)
    const onward = request({ port, method: incoming.method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => onward.destroy())
    incoming.pipe(onward)
  }

  cutStreams(): void {
    for (const socket of this.#streams) socket.destroy()
    this.#streams.clear()
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

describe('the dashboard behind a proxy', () => {
  let dashboard: DashboardUnderTest
  const proxy = new ReverseProxy()
  let url: string
  before(async () => {
    dashboard = await openDashboard({ config: { apiPublicPath: PATH } })
    url = await proxy.open(dashboard.url)
    await dashboard.world.publish(plain('one'))
  })
  after(async () => {
    await dashboard.close()
    await proxy.close()
  })
  const open = async (view: string) => {
    const opened = await openPage(dashboard.browser)
    await opened.page.goto(
      dashboardLink(`${url}${PATH}${view}`.replace(/\/$/, ''), dashboard.token),
    )
    await opened.page.getByRole('heading', { name: 'Now' }).waitFor()
    return opened
  }

  it('works under a path, and asks for nothing outside it', async () => {
    const opened = await open('')
    const { page } = opened
    await page.getByText('Live', { exact: true }).waitFor()
    await page.reload()
    await page.getByText('Live', { exact: true }).waitFor()
    assert.equal(page.url(), `${url}${PATH}`)
    assert.deepEqual(
      proxy.asked.filter((path) => !path.startsWith(PATH)),
      [],
    )
    await assertSound(opened)
  })

  it('continues after its stream was cut, from the last event it has seen', async () => {
    const { page } = await open('')
    await page.getByText('Live', { exact: true }).waitFor()
    await dashboard.world.batch('one', 1, { startsInMin: 3_000 })
    // Walls share an answer for a second.
    await dashboard.world.pass(2)
    await page.getByRole('region', { name: 'Batch 1, one' }).waitFor()
    proxy.asked.length = 0
    proxy.cutStreams()
    await page.waitForRequest((asked) => asked.url().includes('/api/events'))
    await page.getByText('Live', { exact: true }).waitFor()
    const again = proxy.asked.filter((path) => path.includes('/api/events'))
    assert.match(again[0] ?? '', /[?&]after=\d+/)
  })

  it('says that the API is away, keeps what it shows, and continues when it is back', async () => {
    const { page } = await open('')
    await page.getByText('Live', { exact: true }).waitFor()
    proxy.isDown = true
    proxy.cutStreams()
    await page.getByText('Connection lost').waitFor()
    assert.equal(await page.getByRole('heading', { name: 'Now' }).count(), 1)
    proxy.isDown = false
    await page.getByText('Live', { exact: true }).waitFor()
  })
})
