// Which Node runs the program: the only place that says so. Plain JavaScript for any Node, as an older one reads it too.

/** The oldest minor of a line that runs it: `http.setGlobalProxyFromEnv` came with these two, and every line after 25 has it. */
const OLDEST_MINOR = { 24: 14, 25: 4 }
/** The same for npm. */
export const ENGINES = '^24.14.0 || >=25.4.0'

export function runsOn(version) {
  const [major, minor] = version.split('.').map(Number)
  return major > 25 || minor >= (OLDEST_MINOR[major] ?? Number.POSITIVE_INFINITY)
}

/** What people read instead of a stack trace. */
export const refusalOf = (version, butNpm = '') =>
  `matoolkit: needs Node 24.14 or newer (of Node 25: 25.4 or newer); this is ${version}${butNpm}. ` +
  'Install Node 24 from https://nodejs.org/en/download and run the command again.'
