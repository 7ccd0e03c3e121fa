# secure.cmake - what keeps strangers out (transport/secure/secure.h), taken out one at a time. See mutants.cmake.

mutant(NAME proof-unread KIND test_secure FILE transport/secure/greet.c
	REMOVES "a proof is compared with what it should be"
	TEXT [[
	if (!wh_secure_same(proof, body, sizeof(proof))) {
]]
	REPLACEMENT [[
	if (!wh_secure_same(proof, body, 0)) {
]])

mutant(NAME labels-alike KIND test_secure FILE transport/secure/key.c
	REMOVES "the two directions have labels of their own: words that are sent back are no proof"
	TEXT [[
	memcpy(text, labels[connects], LABEL_BYTES);
]]
	REPLACEMENT [[
	memcpy(text, labels[0 * connects], LABEL_BYTES);
]])

mutant(NAME nonce-stale KIND test_secure FILE transport/secure/greet.c
	REMOVES "each greeting has a fresh nonce: what was recorded is no proof"
	TEXT [[
	memcpy(out + AT_NONCE, s->nonce, WH_SECURE_NONCE_BYTES);
]]
	REPLACEMENT [[
	memset(out + AT_NONCE, 7, WH_SECURE_NONCE_BYTES);
]])

mutant(NAME hello-unbound KIND test_secure FILE transport/secure/secure.c
	REMOVES "a hello says the same of its sender as was proven"
	TEXT [[
	if (s->state == WH_SECURE_PROVEN && node == s->peer.node && incarnation == s->peer.incarnation)
]]
	REPLACEMENT [[
	if (s->state == WH_SECURE_PROVEN || node == s->peer.node || incarnation == s->peer.incarnation)
]])

mutant(NAME certificate-unbound KIND test_secure_tls FILE transport/secure/cert.c
	REMOVES "a certificate is for one node"
	TEXT [[
	return find_uri(certificate, is_whole, uri, NULL, 0);
]]
	REPLACEMENT [[
	return find_uri(certificate, is_in, SCHEME, NULL, 0) || find_uri(certificate, is_whole, uri, NULL, 0);
]])

mutant(NAME channel-unbound KIND test_secure_tls FILE transport/secure/tls.c
	REMOVES "the key is proven for one TLS connection: nobody in the middle can pass the proof on"
	TEXT [[
	return SSL_export_keying_material(t->ssl, out, 32, EXPORT_LABEL, strlen(EXPORT_LABEL), NULL, 0, 0) == 1;
]]
	REPLACEMENT [[
	memset(out, (int)strlen(EXPORT_LABEL), 32);
	return t->ssl != NULL;
]])

mutant(NAME key-in-core-files KIND test_secure_key FILE transport/secure/key.c
	REMOVES "no core file has the cluster key"
	TEXT [[
	(void)madvise(pages, count, MADV_DONTDUMP);
]]
	REPLACEMENT "")

mutant(NAME protect-unsaid KIND test_secure_psk FILE transport/secure/greet.c
	REMOVES "a node that protects all and one that protects the meeting refuse each other, by name"
	TEXT [[
	       (all ? MODE_ALL : 0U);
]]
	REPLACEMENT [[
	       (all ? 0U : 0U);
]])

mutant(NAME protect-of-one-key KIND test_secure_psk FILE transport/secure/key.c
	REMOVES "TLS begins from the cluster key, and from no other"
	TEXT [[
	return HMAC(EVP_sha384(), key->bytes, (int)key->count, label, sizeof(label), out, &length) != NULL &&
]]
	REPLACEMENT [[
	return HMAC(EVP_sha384(), key->bytes, 1, label, sizeof(label), out, &length) != NULL &&
]])

mutant(NAME changed-is-silent KIND conformance-tcp-protect FILE transport/tcp/in.c
	REMOVES "that bytes were changed on their way is said"
	TEXT [[
	return changed ? WH_WIRE_CHANGED : WH_WIRE_ENDED;
]]
	REPLACEMENT [[
	return changed ? WH_WIRE_ENDED : WH_WIRE_ENDED;
]])

mutant(NAME secure-key-blames-certificate KIND test_secure_psk FILE transport/secure/tls.c
	REMOVES "where TLS begins from the key no certificate is blamed"
	TEXT [[
	long verdict = has_certificates(t) ? SSL_get_verify_result(t->ssl) : X509_V_OK;
]]
	REPLACEMENT [[
	long verdict = SSL_get_verify_result(t->ssl);
]])

mutant(NAME secure-each-failure-is-a-key KIND test_secure_memory FILE transport/secure/greet.c
	REMOVES "an end that lacks memory does not say that the other has another key"
	TEXT [[
	if ((done < 0 && s->tunnel.failure == WH_SECURE_OF_KEY) ||
]]
	REPLACEMENT [[
	if ((done < 0 && all) ||
]])

mutant(NAME secure-starved-is-unproven KIND test_secure_memory FILE transport/secure/greet.c
	REMOVES "where memory is out that is what did not fit"
	TEXT [[
	s->fault = s->tunnel.failure == WH_SECURE_OF_SYSTEM ? WH_SECURE_STARVED : WH_SECURE_UNPROVEN;
]]
	REPLACEMENT [[
	s->fault = WH_SECURE_UNPROVEN;
]])

mutant(NAME secure-end-is-a-change KIND test_secure_tls FILE transport/secure/secure.c
	REMOVES "an end of TLS in order is no change of bytes"
	TEXT [[
		if (s->tunnel.failure == WH_SECURE_OF_END)
]]
	REPLACEMENT [[
		if (s->tunnel.failure == WH_SECURE_OF_END && got > 0)
]])
