// The dashboard as people see it: a real Chromium on the real API, with the whole system behind it on a virtual clock.
import assert from 'node:assert/strict'
import type { Browser, BrowserContextOptions } from 'playwright-core'
import { dashboardLink } from '../../../src/base/keys/local-token.ts'
import { type ApiUnderTest, openApiUnderTest, type UnderTestOptions } from '../../api/under-test.ts'
import { accessibilityProblems, openBrowser, openPage, type TestPage } from '../../kit/browser.ts'

export interface DashboardUnderTest extends ApiUnderTest {
  readonly browser: Browser
  /** Opens a view as the local person, as the link of `up` does. */
  open(view: string, options?: BrowserContextOptions): Promise<TestPage>
}

export async function openDashboard(options: UnderTestOptions = {}): Promise<DashboardUnderTest> {
  const api = await openApiUnderTest(options)
  const browser = await openBrowser()
  return {
    ...api,
    browser,
    open: async (view, contextOptions) => {
      const opened = await openPage(browser, contextOptions)
      const address = new URL(view, api.url)
      address.hash = new URL(dashboardLink(api.url, api.token)).hash
      await opened.page.goto(address.href)
      return opened
    },
    close: async () => {
      await browser.close()
      await api.close()
    },
  }
}

/** No fault of a script or policy, and nothing that hinders people with impairments. */
export async function assertSound({ page, faults }: TestPage): Promise<void> {
  assert.deepEqual(faults, [])
  assert.deepEqual(await accessibilityProblems(page), [])
}
