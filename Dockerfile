# The image of one node. Build it in a checkout: docker build -t divan .
FROM node:24-slim AS package
WORKDIR /source
COPY . .
RUN npm ci --no-audit --no-fund && mkdir /packed && npm pack --silent --pack-destination /packed

# The program of --engine nats, of the version with which the tests run (tools/nats-server/go.mod).
FROM nats:2.15.2-scratch AS nats

FROM node:24-slim
COPY --from=nats /nats-server /usr/local/bin/nats-server
COPY --from=package /packed /packed
RUN npm install --global --no-audit --no-fund /packed/divan-*.tgz \
  && rm -r /packed /root/.npm \
  && mkdir --mode 700 /var/lib/divan \
  && chown node:node /var/lib/divan
# Freed memory goes back to the system sooner.
ENV MALLOC_MMAP_THRESHOLD_=131072 MALLOC_TRIM_THRESHOLD_=1048576
ENV DIVAN_DATA_DIR=/var/lib/divan DIVAN_HOST=0.0.0.0
USER node
# The REST API takes connections.
HEALTHCHECK --interval=10s --start-period=180s --start-interval=1s \
  CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/${DIVAN_REST_PORT:-8091}"]
VOLUME /var/lib/divan
# REST, CAPI, queries, index service, documents; each also over TLS. Between nodes: 21150 and 21200, with --engine nats 4222 and 6222 too.
EXPOSE 8091 18091 8092 18092 8093 18093 9102 19102 11210 11207 21150 21200 4222 6222
ENTRYPOINT ["divan"]
CMD ["node"]
