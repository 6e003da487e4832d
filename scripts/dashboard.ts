// `npm run dashboard`: set-up has built the dashboard by the time this runs; it says where.
console.log('The dashboard is built: dashboard/dist. It is served at / by every API.')
