// `npm run fuzz`: hostile input for as long as wanted (test/fuzz). `--help` says what can be asked.
import { main } from '../test/fuzz/main.ts'

process.exit(await main(process.argv.slice(2)))
