// How people get into the dashboard, and what they see before.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { openPage } from '../../kit/browser.ts'
import { assertSound, type DashboardUnderTest, openDashboard } from './under-test.ts'

describe('signing in to the dashboard on one machine', () => {
  let dashboard: DashboardUnderTest
  before(async () => {
    dashboard = await openDashboard()
  })
  after(() => dashboard.close())

  it('takes the token from the link and removes it from the address', async () => {
    const opened = await dashboard.open('/')
    const { page } = opened
    await page.getByRole('heading', { name: 'Now' }).waitFor()
    assert.equal(page.url(), `${dashboard.url}/`)
    await page.reload()
    await page.getByRole('heading', { name: 'Now' }).waitFor()
    await assertSound(opened)
  })

  it('stays signed in when somebody follows a link with the token of nobody', async () => {
    const opened = await dashboard.open('/')
    const { page } = opened
    await page.getByRole('heading', { name: 'Now' }).waitFor()
    await page.goto('about:blank')
    await page.goto(`${dashboard.url}/#token=evil`)
    await page.getByRole('heading', { name: 'Now' }).waitFor()
    assert.equal(page.url(), `${dashboard.url}/`)
    await page.reload()
    await page.getByRole('heading', { name: 'Now' }).waitFor()
  })

  it('says where the link is when there is no token, and asks the API for nothing', async () => {
    const opened = await openPage(dashboard.browser)
    const asked: string[] = []
    opened.page.on('request', (request) => void asked.push(new URL(request.url()).pathname))
    await opened.page.goto(`${dashboard.url}/`)
    await opened.page.getByText('matoolkit status --link').waitFor()
    await assertSound(opened)
    assert.deepEqual(
      asked.filter((path) => path.startsWith('/api')),
      ['/api/sign-in'],
    )
  })

  it('shows the page under any address but those of the API, to browsers only', async () => {
    const asBrowser = { accept: 'text/html' }
    const page = await fetch(`${dashboard.url}/batches/7`, { headers: asBrowser })
    assert.equal(page.status, 200)
    assert.match(page.headers.get('content-security-policy')!, /script-src 'self'/)
    const program = await fetch(`${dashboard.url}/batches/7`)
    assert.equal(program.status, 404)
    const api = await fetch(`${dashboard.url}/api/nothing`, { headers: asBrowser })
    assert.equal(api.status, 404)
    assert.doesNotMatch(api.headers.get('content-security-policy')!, /'self'/)
  })
})
