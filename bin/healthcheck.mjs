// The health check of the container: exit code 0 while the process answers that it is alive, on the API's port or the health port.
const { MATOOLKIT_API_PORT, MATOOLKIT_HEALTH_PORT } = process.env
const addresses = [
  `http://127.0.0.1:${MATOOLKIT_HEALTH_PORT || 8080}/health`,
  `http://127.0.0.1:${MATOOLKIT_API_PORT || 7420}/api/health`,
]
const answers = await Promise.allSettled(
  addresses.map((address) => fetch(address, { signal: AbortSignal.timeout(4_000) })),
)
process.exit(answers.some(({ value }) => value?.ok) ? 0 : 1)
