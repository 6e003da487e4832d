// People with roles at the dashboard: an issuer signs their tokens, and their tab already has one, as after a sign-in.
import type { Browser, BrowserContextOptions } from 'playwright-core'
import type { ApiRole } from '../../../src/api/sign-in/sign-in.ts'
import type { UnderTestOptions } from '../../api/under-test.ts'
import { openPage, type TestPage } from '../../kit/browser.ts'
import {
  AUDIENCE,
  claimsOf,
  newKey,
  type SigningKey,
  signed,
  TestIssuer,
} from '../../kit/issuer.ts'
import { type DashboardUnderTest, openDashboard } from './under-test.ts'

/** Later than any browser's clock. */
const NEVER_MS = Date.parse('2100-01-01')

export interface DashboardWithRoles extends Omit<DashboardUnderTest, 'open' | 'call'> {
  openAs(role: ApiRole, view: string, options?: BrowserContextOptions): Promise<TestPage>
  /** As an administrator. */
  call: DashboardUnderTest['call']
}

export async function openDashboardWithRoles(): Promise<DashboardWithRoles> {
  const issuer = await new TestIssuer().open()
  const key = await newKey('dashboard')
  issuer.keys = [key]
  const options: UnderTestOptions = {
    config: { oidcIssuers: [issuer.v2], oidcAudiences: [AUDIENCE], oidcClientId: 'cli' },
  }
  const dashboard = await openDashboard(options)
  const { browser, url, world } = dashboard
  const tokenOf = (role: ApiRole) => tokenFor(issuer, key, role, world.clock.now())
  return {
    ...dashboard,
    openAs: async (role, view, more = {}) =>
      openWith(browser, `${url}${view}`, await tokenOf(role), more),
    call: async (method, path, more = {}) =>
      dashboard.call(method, path, { token: await tokenOf('Admin'), ...more }),
    close: async () => {
      await dashboard.close()
      await issuer.close()
    },
  }
}

/** Valid for a year: stories of waves last weeks. */
const tokenFor = (issuer: TestIssuer, key: SigningKey, role: ApiRole, now: Date) =>
  signed(
    claimsOf(issuer.v2, now, { roles: [role], exp: Math.floor(+now / 1_000) + 31_536_000 }),
    key,
  )

async function openWith(
  browser: Browser,
  address: string,
  accessToken: string,
  options: BrowserContextOptions,
): Promise<TestPage> {
  const opened = await openPage(browser, options)
  const grant = JSON.stringify({ accessToken, refreshToken: null, endsAt: NEVER_MS })
  await opened.page.addInitScript((kept) => sessionStorage.setItem('matoolkit.grant', kept), grant)
  await opened.page.goto(address)
  return opened
}
